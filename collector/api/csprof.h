/* What a program tells csprof: resources that it uses up, and the phase it is in.
 *
 *     csprof_count("rows", n);        then: csprof record -e resource:rows ./program
 *     csprof_phase("assemble");       then: csprof report --refine 'phase = assemble'
 *
 * Nothing has to be linked. Without csprof both calls test one address and do nothing.
 *
 * C89 and later, C++98 and later; GCC and Clang, ELF on x86-64. Everywhere else the calls are
 * there and do nothing, as where CSPROF_DISABLE is defined.
 */
#ifndef CSPROF_H
#define CSPROF_H

#if defined(__GNUC__) && defined(__ELF__) && defined(__x86_64__) && !defined(CSPROF_DISABLE)

/* The address of a function of csprof's, or null. By the global offset table, whatever the code
 * model is: the linker makes a constant null of a weak reference in code that is not
 * position-independent. */
#define CSPROF_FIND(function, name)                                                               \
    __asm__(".weak " name "\n\t"                                                                  \
            "{mov " name "@GOTPCREL(%%rip), %0|mov %0, QWORD PTR " name "@GOTPCREL[rip]}"         \
            : "=r"(function))

/* Counts an amount (unsigned long) of a resource (C string), in a unit of the program's choice, at
 * most 2^40 in one call. The name is compared, not kept. Async-signal-safe. No function of its own,
 * so that it is in no call path. */
#define csprof_count(resource, amount)                                                            \
    __extension__({                                                                               \
        const char *csprof_resource_ = (resource);                                                \
        unsigned long csprof_amount_ = (amount);                                                  \
        void (*csprof_count_)(const char *, unsigned long);                                       \
        CSPROF_FIND(csprof_count_, "csprof_count");                                               \
        if (csprof_count_) csprof_count_(csprof_resource_, csprof_amount_);                       \
        (void)0;                                                                                  \
    })

/* From here on the process is in the phase of this name (C string): all its threads, and processes
 * that it forks. A null pointer, or an empty name, ends the phase. The first 128 bytes of a name
 * tell it from others; a process has at most 4096. May be called in a signal handler: it waits only
 * for other threads that call it, that fork, or of which csprof notes something. */
#define csprof_phase(name)                                                                        \
    __extension__({                                                                               \
        const char *csprof_name_ = (name);                                                        \
        void (*csprof_phase_)(const char *);                                                      \
        CSPROF_FIND(csprof_phase_, "csprof_phase");                                               \
        if (csprof_phase_) csprof_phase_(csprof_name_);                                           \
        (void)0;                                                                                  \
    })

#else

#define csprof_count(resource, amount) ((void)(resource), (void)(amount))
#define csprof_phase(name) ((void)(name))

#endif

#endif
