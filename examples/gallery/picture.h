/* examples/gallery/picture.h -- PNG files, and a page that plays them. */
#ifndef GALLERY_PICTURE_H
#define GALLERY_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Bytes {
  uint8_t *data; /* malloc */
  size_t   size, cap;
} Bytes;

/* Encode rows x cols pixels of 3 bytes as PNG into *out (which is emptied first). False when memory runs out. */
bool png_encode(const uint8_t *rgb, int rows, int cols, Bytes *out);
/* Write a file whole or not at all. False, with the reason in errno, when it cannot be. */
bool file_write(const char *path, const void *data, size_t size);

/* A page that holds everything it shows: titles, text, and animations of PNG frames. */
typedef struct Page {
  Bytes text;
  bool  failed; /* memory ran out */
  int   animations;
} Page;

void page_begin(Page *p, const char *title);
void page_section(Page *p, const char *title, const char *text);
void page_animation_begin(Page *p); /* then its frames, 25 a second */
void page_frame(Page *p, const Bytes *png);
void page_animation_end(Page *p, const char *caption);
void page_code(Page *p, const char *title, const char *text); /* folded away until clicked */
void page_end(Page *p);

#endif
