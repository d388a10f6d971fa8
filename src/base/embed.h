// Embeds files of the repository in the program, as they are when it is built.
#ifndef HLO_BASE_EMBED_H_
#define HLO_BASE_EMBED_H_

// Use at namespace scope. The bytes of `path`, relative to the root of the repository, are placed between the symbols
// `name` and `name`_end. Readers declare both as `extern "C" const char name[]`. The Makefile must make the object
// depend on the file.
#define HLO_EMBED(name, path)        \
  __asm__(                           \
      ".pushsection .rodata,\"a\"\n" \
      ".global " #name "\n" #name ":\n.incbin \"" path "\"\n.global " #name "_end\n" #name "_end:\n.popsection\n")

#endif  // HLO_BASE_EMBED_H_
