// An attention in the form that libraries support, read from the HLO of a fusion:
//
//   result[b,h,q,c] = sum over k of softmax over k(scale * sum over t of query[b,h,q,t] * key[b,h',k,t]
//                                                  + bias[b,h,q,k])
//                     * value[b,h',k,c]
//
// Here h' = h / (heads / heads of keys). With a mask, only keys at or before the query count.
#ifndef HLO_GPU_LIBRARIES_ATTENTION_H_
#define HLO_GPU_LIBRARIES_ATTENTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/instruction.h"

namespace hlo::gpu {

// Four dimensions: batch, heads, and two that depend on the tensor. Strides are in elements, 0 for a dimension of size
// 1.
struct AttentionTensor {
  int64_t operand = -1;  // Operand number of the fusion. -1 for the result.
  PrimitiveType type = {};
  std::vector<int64_t> dims, strides;
};

struct AttentionProblem {
  AttentionTensor query, key;     // [batch, heads, queries, terms], [batch, heads of keys, keys, terms]
  AttentionTensor value, result;  // [batch, heads of keys, keys, columns], [batch, heads, queries, columns]
  double scale = 1;
  std::optional<AttentionTensor> bias;  // [batch, heads, queries, keys]. Broadcast dimensions have size 1.
  std::optional<double> masked;         // The masked score of keys after the query, if there is a mask.

  int64_t heads() const { return query.dims[1]; }
  int64_t queries() const { return query.dims[2]; }
  int64_t keys() const { return key.dims[2]; }
  int64_t score_count() const { return query.dims[0] * heads() * queries() * keys(); }
};

struct AttentionAnswer {
  AttentionProblem problem;
  std::string why_not;  // Empty if `problem` is valid.
};
AttentionAnswer ReadAttention(const Instruction& fusion);

// Whether `inst` is `other` or depends on it within their computation.
bool DependsOn(const Instruction& inst, const Instruction& other);

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_ATTENTION_H_
