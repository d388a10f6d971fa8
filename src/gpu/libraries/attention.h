// An attention as libraries know it: the scores of queries and keys, times a scale, plus a bias, of which a mask leaves
// those of keys at or before the query; a softmax over the keys; the values weighed by it. Read from a fusion's HLO; no
// library is known here.
//
//   result[b,h,q,c] = sum over k of softmax over k(scale * sum over t of query[b,h,q,t] * key[b,h',k,t] +
//   bias[b,h,q,k])
//                     * value[b,h',k,c]
//
// with h' = h / (heads / heads of keys): several heads of queries may have keys and values in common.
#ifndef HLO_GPU_LIBRARIES_ATTENTION_H_
#define HLO_GPU_LIBRARIES_ATTENTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/instruction.h"

namespace hlo::gpu {

// Dimensions: batch, heads, and two more. Strides in elements; 0 where the dimension is 1.
struct AttentionTensor {
  int64_t operand = -1;  // Of the fusion; -1: the result.
  PrimitiveType type = {};
  std::vector<int64_t> dims, strides;
};

struct AttentionProblem {
  AttentionTensor query, key;     // [batch, heads, queries, terms], [batch, heads of keys, keys, terms]
  AttentionTensor value, result;  // [batch, heads of keys, keys, columns], [batch, heads, queries, columns]
  double scale = 1;
  std::optional<AttentionTensor> bias;  // [batch, heads, queries, keys]; 1 where it is broadcast.
  std::optional<double> masked;         // Scores of keys behind the query are this. Nothing: there is no mask.

  int64_t heads() const { return query.dims[1]; }
  int64_t queries() const { return query.dims[2]; }
  int64_t keys() const { return key.dims[2]; }
  int64_t score_count() const { return query.dims[0] * heads() * queries() * keys(); }
};

struct AttentionAnswer {
  AttentionProblem problem;
  std::string why_not;  // Empty: `problem` is filled in.
};
AttentionAnswer ReadAttention(const Instruction& fusion);

// Whether `inst` is `other`, or computed from it in their computation.
bool DependsOn(const Instruction& inst, const Instruction& other);

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_ATTENTION_H_
