// The gradients of an attention (attention.h) in the form that libraries support, read from the HLO of a fusion:
//
//   share[b,h,q,k] = exp(scale * sum over t of query[b,h,q,t] * key[b,h,k,t] - statistics[b,h,q])
//   slope[b,h,q,k] = scale * share[b,h,q,k] * (sum over c of gradient[b,h,q,c] * value[b,h,k,c]
//                                              - sum over c of gradient[b,h,q,c] * result[b,h,q,c])
//   gradient of value[b,h,k,c] = sum over q of share[b,h,q,k] * gradient[b,h,q,c]
//   gradient of key[b,h,k,t]   = sum over q of slope[b,h,q,k] * query[b,h,q,t]
//   gradient of query[b,h,q,t] = sum over k of slope[b,h,q,k] * key[b,h,k,t]
//
// `statistics` is the natural logarithm of the sum of the exponentials of a query's scores, in f32.
#ifndef HLO_GPU_LIBRARIES_ATTENTION_GRADIENT_H_
#define HLO_GPU_LIBRARIES_ATTENTION_GRADIENT_H_

#include <array>
#include <optional>
#include <string>

#include "gpu/libraries/attention.h"
#include "ir/instruction.h"

namespace hlo::gpu {

struct AttentionGradientProblem {
  AttentionTensor query, key, value, result, gradient;
  AttentionTensor statistics;  // [batch, heads, queries, 1]
  // The gradients of query, key and value, and their result numbers.
  AttentionTensor of_query, of_key, of_value;
  std::array<int64_t, 3> numbers = {-1, -1, -1};
  double scale = 1;
  std::optional<double> masked;

  int64_t queries() const { return query.dims[2]; }
  int64_t keys() const { return key.dims[2]; }
  int64_t score_count() const { return query.dims[0] * query.dims[1] * queries() * keys(); }
};

struct AttentionGradientAnswer {
  AttentionGradientProblem problem;
  std::string why_not;
};
AttentionGradientAnswer ReadAttentionGradient(const Instruction& fusion);

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_ATTENTION_GRADIENT_H_
