// Rules that infer shapes. ir/ops.def lists the rule of each op. They return the first violation, with its code in
// ir/verifier/rules.def. Rules of ops without kInferable may also use the written shape.
#ifndef HLO_IR_SHAPES_SHAPE_RULES_H_
#define HLO_IR_SHAPES_SHAPE_RULES_H_

#include <span>
#include <vector>

#include "base/result.h"
#include "ir/shape.h"

namespace hlo {

class Instruction;
struct Window;

// Whether a pred counts as one bit, as in StableHLO, not as a byte, as in XLA's HLO: f64[2] is pred[2,64] in bits and
// pred[2,8] in bytes.
bool TakesPredsForBits(const Shape& from, const Shape& to);

Result<Shape> ShapeAsWritten(const Instruction& inst);
Result<Shape> ShapeOfAbs(const Instruction& inst);
Result<Shape> ShapeOfAfterAll(const Instruction& inst);
Result<Shape> ShapeOfArithmetic(const Instruction& inst);
Result<Shape> ShapeOfAtan2(const Instruction& inst);
Result<Shape> ShapeOfBatchNormGrad(const Instruction& inst);
Result<Shape> ShapeOfBatchNormInference(const Instruction& inst);
Result<Shape> ShapeOfBatchNormTraining(const Instruction& inst);
Result<Shape> ShapeOfBinary(const Instruction& inst);
Result<Shape> ShapeOfBitcast(const Instruction& inst);
Result<Shape> ShapeOfBitcastConvert(const Instruction& inst);
Result<Shape> ShapeOfBitwise(const Instruction& inst);
Result<Shape> ShapeOfBroadcast(const Instruction& inst);
Result<Shape> ShapeOfCall(const Instruction& inst);
Result<Shape> ShapeOfCholesky(const Instruction& inst);
Result<Shape> ShapeOfClamp(const Instruction& inst);
Result<Shape> ShapeOfCompare(const Instruction& inst);
Result<Shape> ShapeOfComplex(const Instruction& inst);
Result<Shape> ShapeOfComplexUnary(const Instruction& inst);
Result<Shape> ShapeOfConcatenate(const Instruction& inst);
Result<Shape> ShapeOfConditional(const Instruction& inst);
Result<Shape> ShapeOfConstant(const Instruction& inst);
Result<Shape> ShapeOfConvert(const Instruction& inst);
Result<Shape> ShapeOfConvolution(const Instruction& inst);
Result<Shape> ShapeOfDot(const Instruction& inst);
Result<Shape> ShapeOfDynamicReshape(const Instruction& inst);
Result<Shape> ShapeOfDynamicSlice(const Instruction& inst);
Result<Shape> ShapeOfDynamicUpdateSlice(const Instruction& inst);
Result<Shape> ShapeOfFft(const Instruction& inst);
Result<Shape> ShapeOfFirst(const Instruction& inst);
Result<Shape> ShapeOfFloatUnary(const Instruction& inst);
Result<Shape> ShapeOfFusion(const Instruction& inst);
Result<Shape> ShapeOfGather(const Instruction& inst);
Result<Shape> ShapeOfGetDimensionSize(const Instruction& inst);
Result<Shape> ShapeOfGetTupleElement(const Instruction& inst);
Result<Shape> ShapeOfIntegerUnary(const Instruction& inst);
Result<Shape> ShapeOfIota(const Instruction& inst);
Result<Shape> ShapeOfIsFinite(const Instruction& inst);
Result<Shape> ShapeOfMap(const Instruction& inst);
Result<Shape> ShapeOfNegate(const Instruction& inst);
Result<Shape> ShapeOfPad(const Instruction& inst);
Result<Shape> ShapeOfProcessId(const Instruction& inst);
Result<Shape> ShapeOfRaggedDot(const Instruction& inst);
Result<Shape> ShapeOfRealImag(const Instruction& inst);
Result<Shape> ShapeOfReduce(const Instruction& inst);
Result<Shape> ShapeOfReducePrecision(const Instruction& inst);
Result<Shape> ShapeOfReduceWindow(const Instruction& inst);
Result<Shape> ShapeOfReshape(const Instruction& inst);
Result<Shape> ShapeOfReverse(const Instruction& inst);
Result<Shape> ShapeOfRng(const Instruction& inst);
Result<Shape> ShapeOfRngBitGenerator(const Instruction& inst);
Result<Shape> ShapeOfRngState(const Instruction& inst);
Result<Shape> ShapeOfScaledDot(const Instruction& inst);
Result<Shape> ShapeOfScan(const Instruction& inst);
Result<Shape> ShapeOfScatter(const Instruction& inst);
Result<Shape> ShapeOfSelect(const Instruction& inst);
Result<Shape> ShapeOfSelectAndScatter(const Instruction& inst);
Result<Shape> ShapeOfSetDimensionSize(const Instruction& inst);
Result<Shape> ShapeOfShuffle(const Instruction& inst);
Result<Shape> ShapeOfSlice(const Instruction& inst);
Result<Shape> ShapeOfSort(const Instruction& inst);
Result<Shape> ShapeOfStochasticConvert(const Instruction& inst);
Result<Shape> ShapeOfTopK(const Instruction& inst);
Result<Shape> ShapeOfTranspose(const Instruction& inst);
Result<Shape> ShapeOfTriangularSolve(const Instruction& inst);
Result<Shape> ShapeOfTuple(const Instruction& inst);
Result<Shape> ShapeOfWhile(const Instruction& inst);

// Result sizes of a sliding window: docs/ops.md#windows.
Result<std::vector<int64_t>> WindowedDims(const Instruction& inst, std::span<const int64_t> dims, const Window& window);

// The shape of a convolution by its `kind`. For dgrad it is the smallest input whose forward convolution has the size
// of the first operand. For other kinds the sizes are the numbers of window positions. Labels refer to the actual
// operands: in all kinds, `o` of the second operand is the result's feature dimension.
Result<Shape> ShapeOfConvolutionKind(const Instruction& inst);

// The position of the result's first element in the operand. Shifts of any size and sign are reduced modulo the
// dimension's size.
std::vector<int64_t> ShuffleStarts(const Instruction& shuffle);

Result<Shape> InferShape(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_IR_SHAPES_SHAPE_RULES_H_
