//! The profiles that refinements are applied to.

/// Two ranks, recursion, inlined and unknown frames, a partial root, modules and lines.
pub const OUTLINE: &str = "\
# rank=0 thread=70 epoch=0 name=main
_start
  main 2 e=1 at:main.c:3 module:/opt/app
    main 3 e=2 at:main.c:9 module:/opt/app
      \"ns::f<int>(int*)\" 5 e=3 module:/opt/lib.so
        memcpy 7 inline
          [vdso] 1 unknown
# rank=1 thread=71 epoch=1 name=worker
\"[partial: no-cfi]\" partial
  MPI_Send 9 e=4 module:libmpi.so
    a 1
      b 2 e=1
        a 3
";

/// The same program another time.
pub const OTHER: &str = "\
# rank=0 thread=90 epoch=0 name=main
_start
  main 1 e=1 at:main.c:3 module:/opt/app
    \"ns::f<int>(int*)\" 15 e=9 module:/opt/lib.so
      \"std::vector<int, std::allocator<int> >::f(int)\" 4 e=2 module:/opt/lib.so
    a 2
      b 2 e=1
";
