/* heddle/abi.h -- how the public functions are declared, for C and C++. */
#ifndef HEDDLE_ABI_H
#define HEDDLE_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define HD_BEGIN_DECLS extern "C" {
#define HD_END_DECLS }
#else
#define HD_BEGIN_DECLS
#define HD_END_DECLS
#endif

#if defined(__GNUC__) || defined(__clang__)
#define HD_API __attribute__((visibility("default")))
#else
#define HD_API
#endif

#define HD_VERSION_MAJOR 0
#define HD_VERSION_MINOR 1
#define HD_VERSION_PATCH 0
#define HD_VERSION_TEXT "0.1.0"

#endif
