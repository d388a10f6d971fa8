// The system's LAPACK, which decompositions that iterate are computed with.
#ifndef HLO_INTERP_CALLS_LAPACK_H_
#define HLO_INTERP_CALLS_LAPACK_H_

#include <string>

namespace hlo {

// "3.11.0, liblapack.so.3"; "" where none is installed.
std::string LapackVersion();

}  // namespace hlo

#endif  // HLO_INTERP_CALLS_LAPACK_H_
