#pragma once
#include <stddef.h>
int printf(const char*, ...);
int puts(const char*);
int putchar(int);
