// Files within the program, as they stand in the repository when it is built.
#ifndef HLO_BASE_EMBED_H_
#define HLO_BASE_EMBED_H_

// At namespace scope: the bytes of `path`, from the root of the repository, from the symbol `name` to `name`_end.
// Whoever reads them declares both as `extern "C" const char name[]`; the object must depend on the file (Makefile).
#define HLO_EMBED(name, path)        \
  __asm__(                           \
      ".pushsection .rodata,\"a\"\n" \
      ".global " #name "\n" #name ":\n.incbin \"" path "\"\n.global " #name "_end\n" #name "_end:\n.popsection\n")

#endif  // HLO_BASE_EMBED_H_
