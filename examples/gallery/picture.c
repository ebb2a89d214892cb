/* examples/gallery/picture.c -- PNG through libpng, and the HTML page with its frames as base64. */
#include "picture.h"

#include <errno.h>
#include <png.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool put(Bytes *b, const void *data, size_t size) {
  if (b->size + size > b->cap) {
    size_t cap = (b->size + size) * 2;
    uint8_t *p = realloc(b->data, cap);
    if (!p) return false;
    b->data = p;
    b->cap = cap;
  }
  memcpy(b->data + b->size, data, size);
  b->size += size;
  return true;
}

static void png_put(png_structp png, png_bytep data, size_t size) {
  if (!put(png_get_io_ptr(png), data, size)) png_error(png, "out of memory");
}

static void png_flush_nothing(png_structp png) { (void)png; }

bool png_encode(const uint8_t *rgb, int rows, int cols, Bytes *out) {
  out->size = 0;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
  if (!png) return false;
  png_infop info = png_create_info_struct(png);
  if (!info || setjmp(png_jmpbuf(png))) {
    png_destroy_write_struct(&png, &info);
    return false;
  }
  png_set_write_fn(png, out, png_put, png_flush_nothing);
  png_set_IHDR(png, info, (png_uint_32)cols, (png_uint_32)rows, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  for (int r = 0; r < rows; r++) png_write_row(png, rgb + (size_t)r * cols * 3);
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return true;
}

bool file_write(const char *path, const void *data, size_t size) {
  char part[4096];
  if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part) {
    errno = ENAMETOOLONG;
    return false;
  }
  FILE *f = fopen(part, "wb");
  if (!f) return false;
  bool ok = fwrite(data, 1, size, f) == size;
  ok = fclose(f) == 0 && ok;
  ok = ok && rename(part, path) == 0;
  if (!ok) {
    int why = errno;
    remove(part);
    errno = why;
  }
  return ok;
}

static void say(Page *p, const char *text) { p->failed |= !put(&p->text, text, strlen(text)); }

static void sayf(Page *p, const char *fmt, ...) {
  char line[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  say(p, line);
}

static void say_escaped(Page *p, const char *text) {
  for (; *text; text++) {
    if (*text == '<')
      say(p, "&lt;");
    else if (*text == '>')
      say(p, "&gt;");
    else if (*text == '&')
      say(p, "&amp;");
    else
      p->failed |= !put(&p->text, text, 1);
  }
}

static void say_base64(Page *p, const uint8_t *data, size_t size) {
  static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < size; i += 3) {
    uint32_t v = (uint32_t)data[i] << 16;
    if (i + 1 < size) v |= (uint32_t)data[i + 1] << 8;
    if (i + 2 < size) v |= data[i + 2];
    char four[4] = {digit[v >> 18], digit[v >> 12 & 63], i + 1 < size ? digit[v >> 6 & 63] : '=',
                    i + 2 < size ? digit[v & 63] : '='};
    p->failed |= !put(&p->text, four, 4);
  }
}

void page_begin(Page *p, const char *title) {
  sayf(p, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>%s</title>\n", title);
  say(p, "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
         "img{width:100%;border-radius:6px;background:#ddd}figure{margin:1rem 0}figcaption{color:#666;font-size:.9rem}"
         "pre{background:#f4f4f2;padding:1rem;overflow:auto;font-size:.8rem;max-height:30rem}"
         "summary{cursor:pointer;color:#06c}</style></head><body>\n");
  sayf(p, "<h1>%s</h1>\n", title);
}

void page_section(Page *p, const char *title, const char *text) {
  sayf(p, "<h2>%s</h2>\n<p>", title);
  say_escaped(p, text);
  say(p, "</p>\n");
}

void page_animation_begin(Page *p) {
  sayf(p, "<figure><img id=\"a%d\" alt=\"\"><script>(function(){var f=[", p->animations);
}

void page_frame(Page *p, const Bytes *png) {
  say(p, "\"");
  say_base64(p, png->data, png->size);
  say(p, "\",\n");
}

void page_animation_end(Page *p, const char *caption) {
  sayf(p,
       "],i=0,e=document.getElementById(\"a%d\");function s(){e.src=\"data:image/png;base64,\"+f[i];"
       "i=(i+1)%%f.length;setTimeout(s,i?40:1200)}s()})()</script><figcaption>",
       p->animations++);
  say_escaped(p, caption);
  say(p, "</figcaption></figure>\n");
}

void page_code(Page *p, const char *title, const char *text) {
  sayf(p, "<details><summary>%s</summary><pre>", title);
  say_escaped(p, text);
  say(p, "</pre></details>\n");
}

void page_end(Page *p) { say(p, "</body></html>\n"); }
