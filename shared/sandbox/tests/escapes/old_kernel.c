// Stands in for a kernel that lacks the call LACKS, or refuses it with the error REFUSED.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

long syscall(long number, ...) {
    static long (*next)(long, ...);
    if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "syscall");
    long arguments[6];
    va_list list;
    va_start(list, number);
    for (int at = 0; at < 6; at++) arguments[at] = va_arg(list, long);
    va_end(list);
    const char *lacks = getenv("LACKS"), *refused = getenv("REFUSED");
    if (lacks != NULL && number == atol(lacks)) {
        errno = refused != NULL ? atoi(refused) : ENOSYS;
        return -1;
    }
    return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}
