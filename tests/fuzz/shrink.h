// tests/fuzz/shrink.h -- makes a failing case small.
//
// After Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", TSE 2002, over the region tree: an edit
// drops an instruction, puts a constant or an operand in a result's place, takes one side of an if, or removes what nothing
// uses. An edit stays if the case still fails. Candidates are judged in a process of their own, which may crash or hang:
// that counts as a failure of the same kind only if the original crashed too.
#ifndef SHRINK_H
#define SHRINK_H

#include <functional>

#include "tests/diff/diff.h"

namespace fuzz {

using Judge = std::function<diff::Verdict(const diff::Case &)>;

// Runs `work` in a child, at most `seconds` long; a crash or a hang is a failure that begins with "crash" or "hang".
diff::Verdict Apart(const std::function<diff::Verdict()> &work, int seconds);
diff::Verdict JudgeApart(const diff::Case &c, const Judge &judge, int seconds);

// The smallest case found, as IR text under its description. Works at most `seconds`.
std::string Shrink(const diff::Case &c, const Judge &judge, int seconds);

// A case from such a text. `owner` keeps its module alive. Returns a message, or "".
std::string LoadCase(const std::string &text, std::unique_ptr<diff::Copy> *owner, diff::Case *c);

} // namespace fuzz

#endif
