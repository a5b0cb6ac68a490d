# Octave: matrices with OpenBLAS in threads, and its interpreter.
# needs: octave-cli
# partial: no-cfi 5, unsupported-cfi 5
prepare() {
    echo 'a = reshape(mod(1:490000, 97), 700, 700) + eye(700) * 1000; for i = 1:6, b = a * a; end; disp(sum(b(:)))
c = a \ ones(700, 1); disp(round(sum(c) * 1e6)); n = 0; for i = 1:30000, n = n + mod(i, 7); end; disp(n)
k = 0; for i = 1:300, try, error("x"); catch, k = k + 1; end; end; disp(k); e = eig(a(1:200, 1:200)); disp(numel(e))' > work.m
}
run() { octave-cli --no-init-file work.m; }
"$@"
