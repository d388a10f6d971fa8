#include "driver/opcode_prose.h"

namespace hlo {

// No default: the compiler warns of an opcode without a sentence. At length: docs/ops.md.
std::string_view ProseOf(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAbs: return "the absolute value; of complex numbers a real one";
    case Opcode::kAcos: return "the arc cosine";
    case Opcode::kAcosh: return "the inverse hyperbolic cosine";
    case Opcode::kAdd: return "the sum; of pred the logical or";
    case Opcode::kAddDependency: return "its first operand, once the second, a token, is there";
    case Opcode::kAfterAll: return "a token that is there when all operands are";
    case Opcode::kAllGather: return "the operands of all devices of a group, joined along a dimension";
    case Opcode::kAllGatherDone: return "the result of an all-gather-start";
    case Opcode::kAllGatherStart: return "begins an all-gather; all-gather-done waits for it";
    case Opcode::kAllReduce: return "the operands of all devices of a group, combined by to_apply";
    case Opcode::kAllReduceDone: return "the result of an all-reduce-start";
    case Opcode::kAllReduceStart: return "begins an all-reduce; all-reduce-done waits for it";
    case Opcode::kAllToAll: return "each device of a group sends its piece i to the i-th of them";
    case Opcode::kAnd: return "logical and of pred, bit by bit of integers";
    case Opcode::kAsin: return "the arc sine";
    case Opcode::kAsinh: return "the inverse hyperbolic sine";
    case Opcode::kAsyncDone: return "waits for what an async-start began, and is its result";
    case Opcode::kAsyncStart: return "begins the computation it calls; async-done waits for it";
    case Opcode::kAsyncUpdate: return "a step between async-start and async-done";
    case Opcode::kAtan2: return "the angle of the point (second, first), from -pi to pi";
    case Opcode::kAtanh: return "the inverse hyperbolic tangent";
    case Opcode::kBatchNormGrad: return "the gradients of batch-norm-training: of operand, scale and offset";
    case Opcode::kBatchNormInference: return "(operand - mean) / sqrt(variance + epsilon) * scale + offset";
    case Opcode::kBatchNormTraining: return "the batch normalized by its own mean and variance, and those two";
    case Opcode::kBitcast: return "the same bytes in memory with another shape or layout";
    case Opcode::kBitcastConvert:
      return "the bits read as another type; a narrower type adds a last dimension, a wider one takes it away";
    case Opcode::kBroadcast: return "the operand repeated; dimensions says where each of its dimensions goes";
    case Opcode::kCall: return "the result of to_apply on the operands";
    case Opcode::kCbrt: return "the cube root, of negative numbers too";
    case Opcode::kCeil: return "rounded up to a whole number";
    case Opcode::kCholesky: return "L of A = L * L^T, for each positive definite matrix";
    case Opcode::kClamp: return "the second operand, no less than the first and no more than the third";
    case Opcode::kCollectiveBroadcast:
      return "the operand of a group's root, its first device or the one the last operand names, on all of the group";
    case Opcode::kCollectivePermute: return "each device gets the operand of its source; zeros when it has none";
    case Opcode::kCollectivePermuteDone: return "the result of a collective-permute-start";
    case Opcode::kCollectivePermuteStart: return "begins a collective-permute; collective-permute-done waits for it";
    case Opcode::kCollectiveReduce:
      return "the operands of all devices of a group, combined by to_apply, on its root; what the others get is "
             "undefined, here zeros";
    case Opcode::kCompare: return "whether the operands are in the relation that direction names";
    case Opcode::kComplex: return "the complex number of a real and an imaginary part";
    case Opcode::kConcatenate: return "the operands one behind the other along a dimension";
    case Opcode::kConditional: return "the result of the branch that the first operand, an index or a pred, chooses";
    case Opcode::kConstant: return "a value written in the text";
    case Opcode::kElidedConstant: return "a value that was left out of the text";
    case Opcode::kConvert: return "the same numbers in another type";
    case Opcode::kConvolution:
      return "windows of the first operand multiplied by the second, the kernel, and summed over the input features";
    case Opcode::kCopy: return "the same value in memory of its own, maybe in another layout";
    case Opcode::kCopyDone: return "the result of a copy-start";
    case Opcode::kCopyStart: return "begins a copy; copy-done waits for it";
    case Opcode::kCos: return "the cosine";
    case Opcode::kCosh: return "the hyperbolic cosine";
    case Opcode::kCountLeadingZeros: return "how many zero bits stand before the highest one";
    case Opcode::kCustomCall: return "what code outside of HLO computes; custom_call_target names it";
    case Opcode::kDivide: return "the quotient; of integers rounded towards zero";
    case Opcode::kDomain: return "its operand, with other shardings on the two sides";
    case Opcode::kDot: return "products summed over the contracting dimensions, for each index of the batch dimensions";
    case Opcode::kDynamicReshape: return "the elements in the same order in a shape whose sizes are operands";
    case Opcode::kDynamicSlice: return "a piece of fixed size, at indices that are operands and are clamped to fit";
    case Opcode::kDynamicUpdateSlice:
      return "the first operand with a piece replaced by the second, at indices that are clamped to fit";
    case Opcode::kErf: return "the error function";
    case Opcode::kExp: return "e to the power of the operand";
    case Opcode::kExp2: return "2 to the power of the operand";
    case Opcode::kExpm1: return "e to the power of the operand, minus 1; exact near 0";
    case Opcode::kFft: return "the discrete Fourier transform over the last dimensions";
    case Opcode::kFloor: return "rounded down to a whole number";
    case Opcode::kFusion: return "the result of calls on the operands, compiled to one kernel";
    case Opcode::kGather: return "slices of the first operand at the indices in the second";
    case Opcode::kGetDimensionSize: return "the size of a dimension now, which may be less than its bound";
    case Opcode::kGetTupleElement: return "one element of a tuple";
    case Opcode::kImag: return "the imaginary part";
    case Opcode::kInfeed: return "the next value from the host's queue, and a token";
    case Opcode::kIota: return "0, 1, 2, ... along a dimension";
    case Opcode::kIsFinite: return "whether it is neither infinite nor NaN";
    case Opcode::kLog: return "the natural logarithm";
    case Opcode::kLog1p: return "the natural logarithm of 1 plus the operand; exact near 0";
    case Opcode::kLog2: return "the logarithm to the base of 2";
    case Opcode::kLogistic: return "1 / (1 + e^-x)";
    case Opcode::kMap: return "to_apply, element by element";
    case Opcode::kMaximum: return "the greater one; NaN when one is NaN";
    case Opcode::kMinimum: return "the lesser one; NaN when one is NaN";
    case Opcode::kMulhi: return "the upper half of the product";
    case Opcode::kMultiply: return "the product; of pred the logical and";
    case Opcode::kNegate: return "the operand with the other sign";
    case Opcode::kNot: return "logical not of pred, bit by bit of integers";
    case Opcode::kOptimizationBarrier: return "its operand; no pass moves anything across it";
    case Opcode::kOr: return "logical or of pred, bit by bit of integers";
    case Opcode::kOutfeed: return "sends the operand to the host's queue";
    case Opcode::kPad: return "the operand with a value around and between its elements; negative padding cuts off";
    case Opcode::kParameter: return "an argument of the computation";
    case Opcode::kPartitionId: return "the number of this partition";
    case Opcode::kPopulationCount: return "how many bits are one";
    case Opcode::kPower: return "the first to the power of the second";
    case Opcode::kRaggedAllToAll: return "all-to-all of pieces whose sizes are operands";
    case Opcode::kRaggedDot: return "dot with groups of rows of different sizes, each with a matrix of its own";
    case Opcode::kReal: return "the real part";
    case Opcode::kRecv: return "begins to receive over a channel; recv-done waits for it";
    case Opcode::kRecvDone: return "what was received, and a token";
    case Opcode::kReduce: return "the elements along dimensions, combined by to_apply from an initial value on";
    case Opcode::kReducePrecision: return "rounded to fewer exponent and mantissa bits, in the same type";
    case Opcode::kReduceScatter:
      return "the operands of a group, combined by to_apply; each device gets one piece of it";
    case Opcode::kReduceWindow: return "the elements of each window, combined by to_apply from an initial value on";
    case Opcode::kRemainder: return "what division leaves; with the sign of the first operand";
    case Opcode::kReplicaId: return "the number of this replica";
    case Opcode::kReshape: return "the elements in the same row-major order in another shape";
    case Opcode::kReverse: return "the operand with the order of elements turned around along dimensions";
    case Opcode::kRng: return "random numbers, uniform between or normal with the operands' values";
    case Opcode::kRngBitGenerator: return "random bits from a state, and the next state";
    case Opcode::kRngGetAndUpdateState: return "the state of the generator, which goes on by delta";
    case Opcode::kRoundNearestAfz: return "rounded to the nearest whole number, halves away from zero";
    case Opcode::kRoundNearestEven: return "rounded to the nearest whole number, halves to the even one";
    case Opcode::kRsqrt: return "1 / sqrt(x)";
    case Opcode::kScaledDot: return "dot of operands in blocks with a scale each";
    case Opcode::kScan: return "to_apply along a dimension, each step from the one before";
    case Opcode::kScatter: return "the operands with slices combined by to_apply with updates, at indices";
    case Opcode::kSelect: return "where the first operand is true the second, else the third";
    case Opcode::kSelectAndScatter:
      return "each window's chosen element is where the source's element is added by scatter";
    case Opcode::kSend: return "begins to send over a channel; send-done waits for it";
    case Opcode::kSendDone: return "a token that is there when all was sent";
    case Opcode::kSetDimensionSize: return "its operand, of which only the first part of a dimension counts";
    case Opcode::kShiftLeft: return "the bits moved up; 0 when by as many as there are or more";
    case Opcode::kShiftRightArithmetic: return "the bits moved down, the sign filling in";
    case Opcode::kShiftRightLogical: return "the bits moved down, zeros filling in";
    case Opcode::kShuffle: return "the elements rotated to lower indices, by shifts along dimensions";
    case Opcode::kSign: return "-1, 0 or 1; of a complex number x / |x|";
    case Opcode::kSin: return "the sine";
    case Opcode::kSinh: return "the hyperbolic sine";
    case Opcode::kSlice: return "a fixed piece: from, to and stride of each dimension";
    case Opcode::kSort: return "the operands sorted along a dimension by to_apply, which says what comes first";
    case Opcode::kSqrt: return "the square root";
    case Opcode::kStochasticConvert:
      return "the first operand in a narrower type, rounded up or down by the random bits in the second";
    case Opcode::kSubtract: return "the difference";
    case Opcode::kTan: return "the tangent";
    case Opcode::kTanh: return "the hyperbolic tangent";
    case Opcode::kTopK: return "the k largest or smallest along the last dimension, and their indices";
    case Opcode::kTranspose: return "the dimensions in another order";
    case Opcode::kTriangularSolve: return "x of a * x = b or x * a = b, for a triangular a";
    case Opcode::kTuple: return "its operands as one value";
    case Opcode::kWhile: return "body again and again, as long as condition says so";
    case Opcode::kXor: return "exclusive or of pred, bit by bit of integers";
  }
  return "";
}

}  // namespace hlo
