/* Functions that this project does not use, refused by the compiler.
 *
 * Force-included before every file. The headers that declare the poisoned names come first,
 * because a poisoned name may not be declared any more. */
#ifndef BASE_POISON_H
#define BASE_POISON_H

#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef alloca
#pragma GCC poison strcpy strcat sprintf vsprintf atoi atol alloca strtok

#endif
