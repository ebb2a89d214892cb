/* examples/floor/floor.c -- a picture of a texture with levels, as a PPM file.
 *
 *     floor FLOOR.hd OUT.ppm
 *
 * The texture is 64 x 64 texels of four bytes, two tiles a side, repeated; Heddle makes its smaller levels. Towards the horizon the left
 * half of the picture glitters and the right half turns into the mean color.
 */
#include <heddle/texture.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 64, ROWS = 240, COLS = 640 };

#define TRY(call)                                                                                                      \
  do {                                                                                                                 \
    HdStatus status_ = (call);                                                                                         \
    if (status_ != HD_OK) return status_;                                                                              \
  } while (0)

static HdStatus make_tiles(HdContext *ctx, HdStream *stream, HdTexture **out) {
  static uint8_t texel[SIDE][SIDE][4];
  const int64_t size[] = {SIDE, SIDE};
  for (int y = 0; y < SIDE; y++)
    for (int x = 0; x < SIDE; x++) {
      bool dark = (x < SIDE / 2) != (y < SIDE / 2);
      for (int c = 0; c < 3; c++) texel[y][x][c] = (uint8_t)(dark ? 40 + 20 * c : 230 - 10 * c);
      texel[y][x][3] = 255;
    }
  HdTextureOptions o = HD_TEXTURE_OPTIONS_INIT;
  o.format = HD_TEXTURE_U8;
  o.channels = 4;
  o.wrap[0] = o.wrap[1] = HD_TEXTURE_REPEAT;
  o.mip_filter = HD_TEXTURE_LINEAR;
  o.levels = 0; /* all; the texels are those of the first */
  return hd_texture_new(ctx, stream, &o, 2, size, texel, out);
}

static HdStatus draw(HdContext *ctx, const char *source, float *color) {
  HdDevice cpu;
  HdStream *stream;
  HdModule *module;
  HdKernel *look;
  HdTexture *tiles;
  HdArray picture;
  HdArg args[HD_TEXTURE_ARGS + 2];
  const int64_t dim[] = {ROWS, COLS};
  TRY(hd_device_find(ctx, "cpu", &cpu));
  TRY(hd_stream_new(ctx, cpu, HD_STREAM_SYNC, &stream));
  TRY(hd_module_load_file(ctx, source, NULL, &module));
  TRY(hd_module_kernel(module, "look", cpu, &look));
  TRY(make_tiles(ctx, stream, &tiles));
  TRY(hd_array_borrow(ctx, cpu, hd_type_vec(HD_F32, 3), 2, dim, NULL, color, &picture));
  int32_t n = hd_texture_args(tiles, args);
  args[n++] = hd_arg_f32(0.6f);
  args[n++] = hd_arg_array(&picture);
  TRY(hd_launch(look, stream, 2, dim, n, args));
  hd_texture_free(tiles);
  hd_module_free(module);
  hd_stream_free(stream);
  return HD_OK;
}

static int write_picture(const char *path, const float *color) {
  FILE *f = fopen(path, "wb");
  if (!f) return perror(path), 1;
  fprintf(f, "P6 %d %d 255\n", COLS, ROWS);
  for (int i = 0; i < ROWS * COLS * 3; i++) fputc((int)(color[i] * 255 + 0.5f), f);
  return fclose(f) != 0;
}

int main(int argc, char **argv) {
  static float color[ROWS * COLS * 3];
  HdContext *ctx;
  char line[512];
  if (argc != 3) return fputs("usage: floor FLOOR.hd OUT.ppm\n", stderr), 2;
  if (hd_context_new(NULL, &ctx) != HD_OK) return fputs("floor: no context\n", stderr), 1;
  HdStatus status = draw(ctx, argv[1], color);
  if (status != HD_OK)
    fprintf(stderr, "%s\n%s", hd_error_format(hd_context_error(ctx), line, sizeof line), hd_context_diagnostics(ctx));
  hd_context_free(ctx);
  return status != HD_OK || write_picture(argv[2], color);
}
