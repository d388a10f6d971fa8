#include "base/gzip.h"

#include <zlib.h>

#include "base/check.h"

namespace hlo {

struct GzipStream::State {
  z_stream stream = {};
};

GzipStream::GzipStream() : state_(std::make_unique<State>()) {
  // zlib writes gzip's header and trailer if this is added to the number of window bits.
  constexpr int kGzip = 16;
  const int code = deflateInit2(&state_->stream, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + kGzip, 8, Z_DEFAULT_STRATEGY);
  CHECK(code == Z_OK, "zlib cannot be started: ", code);
}

GzipStream::~GzipStream() { deflateEnd(&state_->stream); }

std::string GzipStream::Deflate(std::string_view bytes, bool ends) {
  constexpr size_t kPart = 1 << 30;  // zlib counts bytes in 32 bits.
  z_stream& stream = state_->stream;
  std::string out;
  do {
    const std::string_view part = bytes.substr(0, kPart);
    bytes.remove_prefix(part.size());
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
    stream.avail_in = static_cast<uInt>(part.size());
    do {
      char packed[1 << 16];
      stream.next_out = reinterpret_cast<Bytef*>(packed);
      stream.avail_out = sizeof packed;
      deflate(&stream, ends && bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
      out.append(packed, sizeof packed - stream.avail_out);
    } while (stream.avail_out == 0);
  } while (!bytes.empty());
  return out;
}

}  // namespace hlo
