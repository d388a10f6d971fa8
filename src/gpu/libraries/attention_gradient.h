// The gradients of an attention (attention.h) in its queries, keys and values, as libraries know them: from the
// gradient of its result, from that result, and from what its softmax summed up to. Read from a fusion's HLO; no
// library is known here.
//
//   share[b,h,q,k]    = exp(scale * sum over t of query[b,h,q,t] * key[b,h,k,t] - statistics[b,h,q])
//   slope[b,h,q,k]    = scale * share[b,h,q,k] * (sum over c of gradient[b,h,q,c] * value[b,h,k,c]
//                                                 - sum over c of gradient[b,h,q,c] * result[b,h,q,c])
//   of values[b,h,k,c] = sum over q of share[b,h,q,k] * gradient[b,h,q,c]
//   of keys[b,h,k,t]   = sum over q of slope[b,h,q,k] * query[b,h,q,t]
//   of queries[b,h,q,t] = sum over k of slope[b,h,q,k] * key[b,h,k,t]
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
  // Results of the fusion, and their numbers in it.
  AttentionTensor of_query, of_key, of_value;
  std::array<int64_t, 3> numbers = {-1, -1, -1};
  double scale = 1;
  std::optional<double> masked;  // Scores of keys behind the query are this. Nothing: there is no mask.

  int64_t queries() const { return query.dims[2]; }
  int64_t keys() const { return key.dims[2]; }
  int64_t score_count() const { return query.dims[0] * query.dims[1] * queries() * keys(); }
};

struct AttentionGradientAnswer {
  AttentionGradientProblem problem;
  std::string why_not;  // Empty: `problem` is filled in.
};
AttentionGradientAnswer ReadAttentionGradient(const Instruction& fusion);

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_ATTENTION_GRADIENT_H_
