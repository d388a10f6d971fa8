#ifndef HLO_INTERP_CALLS_LAPACK_H_
#define HLO_INTERP_CALLS_LAPACK_H_

#include <string>

namespace hlo {

// Version and file, such as "3.11.0, liblapack.so.3", or "" without LAPACK.
std::string LapackVersion();

}  // namespace hlo

#endif  // HLO_INTERP_CALLS_LAPACK_H_
