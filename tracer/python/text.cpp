#include "tracer/python/text.h"

#include "tracer/python/layout.h"

namespace dtypecheck::tracer::python {

namespace {

// A string's state word holds its kind (1, 2 or 4 bytes a character) in three bits, then a bit that
// says "in one piece with the header", then one for ASCII. Characters follow the header, which is
// shorter for ASCII.
unsigned g_kind_shift = 0;
constexpr size_t kCompactExtra = 16;           // from 3.12 on: utf8_length, utf8
constexpr size_t kCompactExtraBefore312 = 24;  // and wstr_length

uint32_t state_of(const Object* text) { return load<uint32_t>(text, layout.text_state); }

unsigned kind_of_text(const Object* text) { return (state_of(text) >> g_kind_shift) & 7; }
bool is_compact(const Object* text) { return ((state_of(text) >> g_kind_shift) & 8) != 0; }
bool is_ascii(const Object* text) { return ((state_of(text) >> g_kind_shift) & 16) != 0; }
bool is_stored_as(const Object* text, unsigned kind, bool ascii) {
  return kind_of_text(text) == kind && is_compact(text) && is_ascii(text) == ascii;
}

size_t header_size(bool ascii) {
  if (ascii) return layout.text_ascii_size;
  return layout.text_ascii_size + (layout.minor < 12 ? kCompactExtraBefore312 : kCompactExtra);
}

uint32_t character(const char* data, unsigned kind, size_t index) {
  if (kind == 1) return static_cast<unsigned char>(data[index]);
  if (kind == 2) return load<uint16_t>(data, 2 * index);
  return load<uint32_t>(data, 4 * index);
}

// How many bytes were written; 0 when there is no room.
size_t put_utf8(uint32_t c, char* out, size_t room) {
  const size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  if (room < length) return 0;
  if (length == 1) {
    out[0] = static_cast<char>(c);
    return 1;
  }
  static constexpr unsigned char kLead[] = {0, 0, 0xC0, 0xE0, 0xF0};
  for (size_t i = length - 1; i > 0; --i, c >>= 6) out[i] = static_cast<char>(0x80 | (c & 0x3F));
  out[0] = static_cast<char>(kLead[length] | c);
  return length;
}

// A byte of a file name that is no UTF-8 is kept by Python as a lone surrogate.
uint32_t printable(uint32_t c) { return c >= 0xD800 && c < 0xE000 ? 0xFFFD : c; }

bool reads_back(const char* utf8) {
  const Ref text(new_text(utf8));
  return text && text_of(text.get()) == utf8;
}

}  // namespace

bool learn_text_layout() {
  const Ref ascii(new_text("train.py"));
  const Ref latin(new_text("tr\xC3\xA4in.py"));
  const Ref wide(new_text("tr\xE2\x82\xACin.py"));
  const Ref widest(new_text("tr\xF0\x9F\x99\x82in.py"));
  if (!ascii || !latin || !wide || !widest) return false;
  // Not all bits of the word are in use, and the others hold what was in memory before.
  for (g_kind_shift = 0; g_kind_shift < 27; ++g_kind_shift) {
    if (is_stored_as(ascii.get(), 1, true) && is_stored_as(latin.get(), 1, false) &&
        is_stored_as(wide.get(), 2, false) && is_stored_as(widest.get(), 4, false)) {
      return reads_back("train.py") && reads_back("tr\xC3\xA4in.py") &&
             reads_back("tr\xE2\x82\xACin.py") && reads_back("tr\xF0\x9F\x99\x82in.py");
    }
  }
  return false;
}

ptrdiff_t read_text(const Object* text, char* out, size_t room) {
  if (!is_exactly(text, api.PyUnicode_Type)) return -1;
  const unsigned kind = kind_of_text(text);
  if (!is_compact(text) || (kind != 1 && kind != 2 && kind != 4)) return -1;
  const char* data = reinterpret_cast<const char*>(text) + header_size(is_ascii(text));
  const size_t length = load<size_t>(text, layout.text_length);
  size_t used = 0;
  for (size_t i = 0; i < length; ++i) {
    const size_t put = put_utf8(printable(character(data, kind, i)), out + used, room - used);
    if (put == 0) break;
    used += put;
  }
  return static_cast<ptrdiff_t>(used);
}

std::string text_of(const Object* text) {
  char buffer[4096];
  const ptrdiff_t length = read_text(text, buffer, sizeof buffer);
  return length <= 0 ? std::string() : std::string(buffer, static_cast<size_t>(length));
}

}  // namespace dtypecheck::tracer::python
