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

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) && defined(__ELF__) && defined(__x86_64__) && !defined(CSPROF_DISABLE)

/* The address of a function of csprof's, or null. By the global offset table, whatever the code
 * model is: the linker makes a constant null of a weak reference in code that is not
 * position-independent. */
#define CSPROF_FIND(function, name)                                                               \
    __asm__(".weak " name "\n\t"                                                                  \
            "{mov " name "@GOTPCREL(%%rip), %0|mov %0, QWORD PTR " name "@GOTPCREL[rip]}"         \
            : "=r"(function))

static __inline__ void csprof_count_(
    const char *csprof_resource, unsigned long csprof_amount) {
    void (*csprof_function)(const char *, unsigned long);
    CSPROF_FIND(csprof_function, "csprof_count");
    if (csprof_function) csprof_function(csprof_resource, csprof_amount);
}

static __inline__ void csprof_phase_(const char *csprof_name) {
    void (*csprof_function)(const char *);
    CSPROF_FIND(csprof_function, "csprof_phase");
    if (csprof_function) csprof_function(csprof_name);
}

#undef CSPROF_FIND

/* Counts an amount (unsigned long) of a resource (C string), in a unit of the program's choice, at
 * most 2^40 in one call. The name is compared, not kept. Async-signal-safe. */
#define csprof_count(resource, amount) csprof_count_((resource), (amount))

/* From here on the process is in the phase of this name (C string): all its threads, and processes
 * that it forks. A null pointer, or an empty name, ends the phase. The first 128 bytes of a name
 * tell it from others; a process has at most 4096. May be called in a signal handler: it waits only
 * for other threads that call it. */
#define csprof_phase(name) csprof_phase_((name))

#else

#define csprof_count(resource, amount) ((void)(resource), (void)(amount))
#define csprof_phase(name) ((void)(name))

#endif

#ifdef __cplusplus
}
#endif

#endif
