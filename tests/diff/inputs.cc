// tests/diff/inputs.cc -- arguments from a description and a seed, and their comparison.
#include <cmath>
#include <cstring>

#include "diff.h"
#include "ir/layout.h"

namespace diff {
namespace {

constexpr int64_t kGuard = 128; // bytes around every array; the pool promises 64
constexpr uint8_t kCanary = 0xC5;

// --- values ---

uint64_t WildFloat(const IrType *t, Rng *r) {
  static const double special[] = {0.0,          -0.0,  1.0,    -1.0,   0.5,     INFINITY,     -INFINITY,
                                   NAN,          1e-40, -1e-40, 6e-8,   65504.0, 2147483648.0, -2147483649.0,
                                   4294967296.0, 1e19,  255.5,  3.4e38, 1e300,   0x1p-1074};
  switch (r->Below(8)) {
  case 0: return hdir_bits_of(t, special[r->Below((int)(sizeof special / sizeof *special))]);
  case 1: return r->Next() & (hdir_bits(t) == 64 ? ~0ull : (1ull << hdir_bits(t)) - 1);
  case 2:
  case 3: return hdir_bits_of(t, r->In(-8, 8));
  default: return hdir_bits_of(t, (r->Unit() - 0.5) * std::ldexp(1.0, r->In(-3, 9)));
  }
}

uint64_t WildInt(const IrType *t, Rng *r) {
  uint64_t mask = hdir_bits(t) == 64 ? ~0ull : (1ull << hdir_bits(t)) - 1;
  switch (r->Below(6)) {
  case 0: return r->Next() & mask;
  case 1: return ((uint64_t)1 << (hdir_bits(t) - 1)) & mask; // the smallest of signed types
  case 2: return (((uint64_t)1 << (hdir_bits(t) - 1)) - 1 + (uint64_t)r->Below(2)) & mask;
  default: return (uint64_t)(int64_t)r->In(-9, 20) & mask;
  }
}

uint64_t Leaf(const IrType *t, const Fill &f, Rng *r) {
  if (t->kind == IR_BOOL) return f.wild ? r->Next() & 1 : r->Unit() * (f.hi - f.lo) + f.lo >= 0.5;
  if (hdir_is_float(t)) return f.wild ? WildFloat(t, r) : hdir_bits_of(t, f.lo + r->Unit() * (f.hi - f.lo));
  if (f.wild) return WildInt(t, r);
  int64_t x = (int64_t)std::floor(f.lo + r->Unit() * (f.hi - f.lo));
  return hdir_bits(t) == 64 ? (uint64_t)x : (uint64_t)x & ((1ull << hdir_bits(t)) - 1);
}

// Calls f(offset, type) for each leaf of a type in memory.
template <class F> void EachLeaf(const IrType *t, uint32_t offset, const F &f) {
  if (!hdir_is_composite(t)) return f(offset, t);
  for (uint32_t i = 0; i < t->nparts; i++) EachLeaf(hdir_part(t, i), offset + hdir_part_offset(t, i), f);
}

void FillValue(const IrType *t, const Fill &fill, Rng *r, uint8_t *to) {
  EachLeaf(t, 0, [&](uint32_t offset, const IrType *leaf) {
    if (!hdir_is_scalar(leaf)) return;
    uint64_t bits = Leaf(leaf, fill, r);
    memcpy(to + offset, &bits, leaf->size);
  });
}

// --- arrays ---

// Calls f(byte offset) for each element.
template <class F> void EachElement(const Buffer &b, const F &f) {
  int64_t count = 1;
  for (int64_t n : b.length) count *= n;
  for (int64_t k = 0; k < count; k++) {
    int64_t rest = k, at = 0;
    for (size_t d = b.length.size(); d-- > 0;) at += rest % b.length[d] * b.stride[d], rest /= b.length[d];
    f(b.origin + at * (int64_t)b.elem->size);
  }
}

void ChooseStrides(Buffer *b, Layout layout, Rng *r) {
  size_t nd = b->length.size();
  b->stride.assign(nd, 1);
  bool strided = layout == Layout::kStrided;
  int64_t step = strided ? r->In(1, 3) : 1;
  // Any order of the axes, gaps between the rows, either direction.
  std::vector<size_t> order(nd);
  for (size_t d = 0; d < nd; d++) order[d] = nd - 1 - d;
  if (strided && nd > 1 && r->Chance(50)) std::swap(order[0], order[1 + (size_t)r->Below((int)nd - 1)]);
  for (size_t d : order) {
    b->stride[d] = step;
    step = step * std::max<int64_t>(b->length[d], 1) + (strided ? r->Below(3) : 0);
    if (strided && r->Chance(20)) b->stride[d] = -b->stride[d];
  }
  if (strided && b->role == Role::kRead && r->Chance(15)) b->stride[(size_t)r->Below((int)nd)] = 0;
}

void PlaceBuffer(Buffer *b) {
  int64_t lo = 0, hi = 0; // elements before and after element 0
  for (size_t d = 0; d < b->length.size(); d++) {
    int64_t reach = b->stride[d] * std::max<int64_t>(b->length[d] - 1, 0);
    (reach < 0 ? lo : hi) += reach;
  }
  int64_t size = b->elem->size;
  b->origin = kGuard - lo * size;
  b->bytes.assign((size_t)(kGuard * 2 + (hi - lo + 1) * size), kCanary);
}

int64_t Length(const Extent &e, const std::vector<int64_t> &dim) {
  int64_t n = 0;
  if (e.axis >= 0 && e.axis < (int)dim.size()) n = dim[(size_t)e.axis];
  if (e.axis == Extent::kAll) {
    n = 1;
    for (int64_t d : dim) n *= d;
  }
  return e.per * n + e.extra;
}

Buffer MakeBuffer(const ArraySpec &spec, const IrType *array, const std::vector<int64_t> &dim, Layout layout, Rng *r) {
  Buffer b;
  b.elem = array->elem;
  b.role = spec.role;
  for (const Extent &e : spec.extent) b.length.push_back(Length(e, dim));
  ChooseStrides(&b, layout, r);
  PlaceBuffer(&b);
  EachElement(b, [&](int64_t at) { FillValue(b.elem, spec.fill, r, &b.bytes[(size_t)at]); });
  return b;
}

std::string Show(const IrType *t, uint64_t bits) {
  char text[96];
  if (hdir_is_float(t))
    snprintf(text, sizeof text, "%.17g (0x%llx)", hdir_f64_of(t, bits), (unsigned long long)bits);
  else
    snprintf(text, sizeof text, "%lld (0x%llx)", (long long)hdir_i64_of(t, bits), (unsigned long long)bits);
  return text;
}

// The bytes with every NaN made the same one.
std::vector<uint8_t> Normal(const Buffer &b) {
  std::vector<uint8_t> bytes = b.bytes;
  EachElement(b, [&](int64_t at) {
    EachLeaf(b.elem, 0, [&](uint32_t offset, const IrType *leaf) {
      if (!hdir_is_float(leaf)) return;
      uint64_t bits = 0;
      memcpy(&bits, &bytes[(size_t)at + offset], leaf->size);
      if (!std::isnan(hdir_f64_of(leaf, bits))) return;
      bits = hdir_bits_of(leaf, NAN);
      memcpy(&bytes[(size_t)at + offset], &bits, leaf->size);
    });
  });
  return bytes;
}

// Names the first element that differs.
std::string Difference(size_t which, const Buffer &b, const std::vector<uint8_t> &want,
                       const std::vector<uint8_t> &got) {
  std::string out;
  int64_t n = 0;
  EachElement(b, [&](int64_t at) {
    uint32_t k = 0;
    EachLeaf(b.elem, 0, [&](uint32_t offset, const IrType *leaf) {
      uint64_t x = 0, y = 0;
      memcpy(&x, &want[(size_t)at + offset], leaf->size);
      memcpy(&y, &got[(size_t)at + offset], leaf->size);
      if (x != y && out.empty())
        out = "array " + std::to_string(which) + ", element " + std::to_string(n) + ", leaf " + std::to_string(k) +
              ": wanted " + Show(leaf, x) + ", got " + Show(leaf, y);
      k++;
    });
    n++;
  });
  return out.empty() ? "array " + std::to_string(which) + ": bytes outside its elements were changed" : out;
}

} // namespace

void *Inputs::Bind() {
  for (size_t k = 0; k < buffers.size(); k++) {
    Buffer &real = buffers[k].alias < 0 ? buffers[k] : buffers[(size_t)buffers[k].alias];
    uint8_t *data = real.bytes.data() + real.origin, *to = &args[patch[k]];
    size_t nd = buffers[k].length.size();
    memcpy(to, &data, 8);
    memcpy(to + 8, buffers[k].length.data(), 8 * nd);
    memcpy(to + 8 + 8 * nd, buffers[k].stride.data(), 8 * nd);
  }
  return args.data();
}

Inputs MakeInputs(const Case &c, const std::vector<int64_t> &dim, Layout layout, uint64_t seed) {
  Rng r(seed ^ c.seed * 0x9E3779B97F4A7C15u);
  const IrFunc *fn = hdir_func_find(c.module, c.kernel.c_str());
  std::vector<uint32_t> offset(fn->body->nparams + 1);
  std::vector<size_t> first; // buffer of each parameter
  Inputs in;
  in.dim = dim;
  in.args.assign(hdir_args_layout(fn, offset.data()) + 16, 0);
  for (uint32_t p = 0; p < fn->body->nparams; p++) {
    const IrType *t = fn->body->params[p]->type;
    const Param &param = c.params[p];
    size_t next = 0;
    first.push_back(in.buffers.size());
    FillValue(t, param.fill, &r, &in.args[offset[p]]);
    EachLeaf(t, 0, [&](uint32_t at, const IrType *leaf) {
      if (leaf->kind != IR_ARRAY) return;
      in.patch.push_back(offset[p] + at);
      in.buffers.push_back(MakeBuffer(param.arrays[next++], leaf, dim, layout, &r));
      if (param.alias < 0) return;
      Buffer &b = in.buffers.back();
      b = in.buffers[first[(size_t)param.alias]];
      b.alias = (int)first[(size_t)param.alias];
      b.bytes.clear();
    });
  }
  return in;
}

void Printed::Take(RtPrinter *p, Inputs *in) {
  hdrt_printer_launch_ends(p);
  in->printed.clear();
  hdrt_printer_take(
      p, [](void *user, const char *text, size_t n) { static_cast<std::string *>(user)->append(text, n); },
      &in->printed);
}

std::string Compare(const Inputs &want, const Inputs &got) {
  // A GPU has room for so much, and says it.
  if (want.printed != got.printed && got.printed.find("are lost") == std::string::npos)
    return "printed \"" + got.printed.substr(0, 300) + "\" instead of \"" + want.printed.substr(0, 300) + "\"";
  for (size_t k = 0; k < want.buffers.size(); k++) {
    if (want.buffers[k].alias >= 0) continue;
    if (want.buffers[k].bytes == got.buffers[k].bytes) continue;
    std::vector<uint8_t> a = Normal(want.buffers[k]), b = Normal(got.buffers[k]);
    if (a != b) return Difference(k, want.buffers[k], a, b);
  }
  return "";
}

} // namespace diff
