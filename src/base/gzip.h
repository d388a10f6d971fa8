#ifndef HLO_BASE_GZIP_H_
#define HLO_BASE_GZIP_H_

#include <memory>
#include <string>
#include <string_view>

namespace hlo {

class GzipStream {
 public:
  GzipStream();
  ~GzipStream();
  GzipStream(const GzipStream&) = delete;

  // Returns the output so far. Finish returns the rest.
  std::string Add(std::string_view bytes) { return Deflate(bytes, false); }
  std::string Finish() { return Deflate({}, true); }

 private:
  std::string Deflate(std::string_view bytes, bool ends);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hlo

#endif  // HLO_BASE_GZIP_H_
