/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of the platform as DPI-C functions, for test benches in any SystemVerilog simulator; plain C. The
 * package azulejo_dpi_pkg.sv imports them and says what each does.
 *
 * No function keeps anything but what a handle owns, and none fails: an argument that is not allowed gives the result
 * named below. A handle belongs to one thread at a time.
 *
 * DPI's types: unsigned int is `int unsigned`, unsigned long long `longint unsigned`, unsigned char `byte unsigned`,
 * void* `chandle`. */
#ifndef AZULEJO_DPI_H
#define AZULEJO_DPI_H

#ifdef __cplusplus
extern "C" {
#endif

/* Unknown format: 7FC00000. */
unsigned int azulejo_decode(unsigned int format, unsigned int code, unsigned char flush);
/* Unknown format: FFFFFFFF. */
unsigned int azulejo_encode(unsigned int format, unsigned int value, unsigned char stochastic, unsigned char saturate,
                            unsigned char flush, unsigned int random_word);
unsigned int azulejo_fma(unsigned int a, unsigned int b, unsigned int acc, unsigned char flush);
unsigned int azulejo_add(unsigned int a, unsigned int b, unsigned char flush);

/* Unknown source, or no memory: null. */
void* azulejo_random_new(unsigned int source, unsigned long long seed, unsigned int engine, unsigned int lane);
/* Null: 0. */
unsigned int azulejo_random_next(void* handle);
/* Null, or no such word: 0. */
unsigned int azulejo_random_state(void* handle, unsigned int word);
/* Null: nothing. */
void azulejo_random_set_state(void* handle, unsigned int word0, unsigned int word1, unsigned int word2,
                              unsigned int word3, unsigned int word4, unsigned int word5);
/* Null: nothing. */
void azulejo_random_free(void* handle);

/* Unknown format, or null where a word is needed: FFFFFFFF. */
unsigned int azulejo_rounding_step(void* handle, unsigned int format, unsigned int value, unsigned char stochastic,
                                   unsigned char saturate, unsigned char flush);

#ifdef __cplusplus
}
#endif

#endif
