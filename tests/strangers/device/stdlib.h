#pragma once
#include <stddef.h>
void abort(void);
void exit(int);
int abs(int);
long labs(long);
void* malloc(size_t);
void* calloc(size_t, size_t);
void free(void*);
