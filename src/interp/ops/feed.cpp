// infeed and outfeed take values in the order of execution.
#include "base/text.h"
#include "interp/evaluation.h"

namespace hlo {

Result<Literal> EvalInfeed(Evaluation& e) {
  const InterpretOptions& options = e.session.options();
  const int64_t number = e.session.infeeds++;
  if (!options.infeed) {
    FAIL(ErrorAt(e.inst, "R007",
                 Str("'", e.inst.name(), "' reads value ", number, " of the infeed, which has no such value"))
             .Hint("--infeed=FILE.npz gives the values, as in0, in1 ..."));
  }
  Literal data = TRY(options.infeed(e.inst, number));
  return Literal::Tuple({std::move(data), Literal(Shape::Token())});
}

Result<Literal> EvalOutfeed(Evaluation& e) {
  const int64_t number = e.session.outfeeds++;
  const DevicePlace place = e.session.place().value_or(DevicePlace());
  const bool first = place.replica == 0 && place.partition == 0;
  if (first && e.session.options().outfeed) e.session.options().outfeed(number, e.operands[0]);
  return Literal(Shape::Token());
}

}  // namespace hlo
