#ifndef HLO_BASE_EMBED_H_
#define HLO_BASE_EMBED_H_

// Embeds a file of the repository, at namespace scope. Its bytes are between the symbols `name` and `name`_end,
// declared as `extern "C" const char name[]`. The Makefile must make the object depend on the file.
#define HLO_EMBED(name, path)        \
  __asm__(                           \
      ".pushsection .rodata,\"a\"\n" \
      ".global " #name "\n" #name ":\n.incbin \"" path "\"\n.global " #name "_end\n" #name "_end:\n.popsection\n")

#endif  // HLO_BASE_EMBED_H_
