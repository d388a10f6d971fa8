// Tests of the manual's pages as a terminal and a browser show them (src/driver/manual).
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "driver/manual/markdown.h"
#include "driver/manual/pages.h"
#include "tests/read_file.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

Result<MarkdownPage> Parsed(std::string text) {
  return ParseMarkdown(std::make_shared<const SourceText>("page.md", std::move(text)));
}

constexpr char kPage[] = R"(# Sums & more

A *word*, **two words** and `code < 1`,
over two lines: f8*, [a, b) and a * b.

![The sum of *two*](docs/sum.png)

## In any order

- the first, [of sums](comparison.md#sums),
  goes on
- the second

1. one
2. two

| op | what |
|---|---|
| abs | `\|x\|`, \|x\| |
| [site](https://example.org/a) | x |

```sh
$ hlo run \
    x.hlo
  printed & indented

last
```

    indented
)";

TEST(Manual, PagesBecomeHtml) {
  const auto page = Parsed(kPage);
  ASSERT_TRUE(page) << page.error().message();
  EXPECT_EQ(ToHtml(page->blocks), R"(<h1 id="sums--more">Sums &amp; more</h1>
<p>A <em>word</em>, <strong>two words</strong> and <code>code &lt; 1</code>, over two lines: f8*, [a, b) and a * b.</p>
<p><em>The sum of <em>two</em></em></p>
<h2 id="in-any-order">In any order</h2>
<ul>
<li>the first, <a href="comparison.html#sums">of sums</a>, goes on</li>
<li>the second</li>
</ul>
<ol>
<li>one</li>
<li>two</li>
</ol>
<table>
<tr><th>op</th><th>what</th></tr>
<tr><td>abs</td><td><code>|x|</code>, |x|</td></tr>
<tr><td><a href="https://example.org/a">site</a></td><td>x</td></tr>
</table>
<pre><span class="h">$ hlo run \</span>
<span class="h">    x.hlo</span>
  printed &amp; indented

last
</pre>
<pre>indented
</pre>
)");
}

TEST(Manual, PagesBecomeText) {
  const auto page = Parsed(kPage);
  ASSERT_TRUE(page) << page.error().message();
  EXPECT_EQ(ToTerminalText(page->blocks, 40), R"(Sums & more
===========

A word, two words and `code < 1`, over
two lines: f8*, [a, b) and a * b.

The sum of two

In any order
------------

- the first, of sums, goes on
- the second

1. one
2. two

op                            what
----------------------------  ----------
abs                           `|x|`, |x|
site (https://example.org/a)  x

    $ hlo run \
        x.hlo
      printed & indented

    last

    indented
)");
}

// The cells of a row that is too wide are wrapped, beginning with the widest column.
TEST(Manual, TablesFitTheirWidth) {
  const auto page = Parsed("| a | b |\n|---|---|\n| word | one two three four five six seven |\n| wide | x |\n");
  ASSERT_TRUE(page) << page.error().message();
  EXPECT_EQ(ToTerminalText(page->blocks, 24), R"(a     b
----  ------------------
word  one two three four
      five six seven
wide  x
)");
}

TEST(Manual, UnsupportedMarkdownIsAnError) {
  const std::map<std::string, std::string> kBad = {
      {"#### too deep\n", "a heading is #, ## or ###"},
      {"#no blank\n", "a heading is"},
      {"text\n- item\n", "expected a blank line between this line"},
      {"text\n# heading\n", "expected a blank line between this line"},
      {"> quoted\n", "not written with '>'"},
      {"* item\n", "not written with '* '"},
      {"  - nested\n", "not written with ' '"},
      {"- item\n   goes on\n", "further lines of this item begin with 2 blanks"},
      {"- item\n1. other\n", "one list has items with '-' and items with numbers"},
      {"---\n", "not written with '---'"},
      {"a <b>bold</b> word\n", "no HTML"},
      {"![picture]\n", "a picture is"},
      {"an open `code\n", "nothing closes this `"},
      {"an open **mark\n", "this text has no **"},
      {"an open *mark\n", "this text has no *"},
      {"[a](two words)\n", "one word"},
      {"```sh\n$ hlo\n", "nothing closes this ```"},
      {"| a |\n", "a table has titles"},
      {"| a |\n| b |\n", "expected the line |---|---| after the titles"},
      {"| a |\n|---|\n| b | c |\n", "the row has 2 cells, but the number of titles is 1"},
      {"| a |\n|---|\n| b\n", "ends with '|'"},
  };
  for (const auto& [text, message] : kBad) {
    const auto page = Parsed(text);
    ASSERT_FALSE(page) << text;
    EXPECT_NE(page.error().message().find(message), std::string::npos) << text << page.error().message();
    EXPECT_EQ(page.error().exit, ExitCode::kInternal);
    EXPECT_FALSE(page.error().diagnostics[0].range.empty()) << text;
  }
}

TEST(Manual, ContainsEachPage) {
  const std::regex target(R"(\]\([^ )]*\.md)");
  std::set<std::string> files = {"README.md", "CONTRIBUTING.md"}, pages;
  for (const auto& entry : fs::recursive_directory_iterator("docs"))
    if (entry.path().extension() == ".md") files.insert(entry.path().string());
  for (const ManualPage& page : AllPages()) {
    pages.emplace(page.file);
    EXPECT_TRUE(page.text == ReadFile(page.file)) << page.file << ": the program was built from another text";
    EXPECT_EQ(page.is_guide, page.file.starts_with("docs/guides/"));
    EXPECT_TRUE(page.text.starts_with("# ")) << page.file;
    EXPECT_EQ(FindPage(page.file), &page);
    EXPECT_EQ(FindPage(page.name), &page);
    const auto text = PageText(page);
    ASSERT_TRUE(text) << page.file << ": " << text.error().message();
    EXPECT_FALSE(std::regex_search(*text, target)) << page.file;
  }
  EXPECT_EQ(pages, files) << "src/driver/manual/pages.def lists the pages";
}

TEST(Manual, ShowsASectionAlone) {
  const ManualPage* page = FindPage("comparison");
  ASSERT_NE(page, nullptr);
  const auto text = PageText(*page, "ensemble");
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_TRUE(text->starts_with("Ensemble\n--------\n")) << *text;
  EXPECT_EQ(text->find("Tolerance\n"), std::string::npos);
  EXPECT_FALSE(PageText(*page, "nowhere"));
  EXPECT_EQ(FindPage("no-such-page"), nullptr);
}

// A term is explained once, either in the glossary or, if reports use it, in tools/words.def.
TEST(Manual, GlossaryExplainsEachTermOnce) {
  const auto glossary = Glossary();
  ASSERT_TRUE(glossary) << glossary.error().message();
  EXPECT_GE(glossary->size(), 70u);
  const std::string words = ReadFile("tools/words.def");
  std::set<std::string> terms;
  for (const GlossaryTerm& term : *glossary) {
    EXPECT_TRUE(terms.insert(term.term).second) << "two rows for " << term.term;
    EXPECT_TRUE(term.meaning.ends_with(".")) << term.term;
    EXPECT_FALSE(std::regex_search(words, std::regex("WORD\\(\"([^\"]*\\|)?" + term.term + "[|\"]"))) << term.term;
  }
}

// Each link of the site leads to an existing page and section. The pages load nothing and run no scripts.
TEST(Manual, LinksOfTheSiteAreValid) {
  const fs::path site = fs::temp_directory_path() / ("hlo-site-" + std::to_string(getpid()));
  const Status written = WriteSite(site);
  ASSERT_TRUE(written) << written.error().message();
  const std::regex link(R"rx(href="([^"]*)")rx"), id(R"rx( id="([^"]*)")rx");
  std::map<fs::path, std::string> pages;
  std::map<fs::path, std::set<std::string>> anchors;
  for (const auto& entry : fs::recursive_directory_iterator(site)) {
    if (!entry.is_regular_file()) continue;
    const std::string text = pages[entry.path()] = ReadFile(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), id), end; at != end; ++at)
      EXPECT_TRUE(anchors[entry.path()].insert((*at)[1]).second) << entry.path() << ": two sections " << (*at)[1];
  }
  EXPECT_EQ(pages.size(), AllPages().size());
  EXPECT_TRUE(pages.contains(site / "index.html"));
  int links = 0;
  for (const auto& [path, text] : pages) {
    EXPECT_EQ(text.find("<script"), std::string::npos) << path;
    EXPECT_EQ(text.find("<link"), std::string::npos) << path;
    EXPECT_EQ(text.find(" src="), std::string::npos) << path;
    for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at) {
      const std::string target = (*at)[1];
      if (target.starts_with("https://")) continue;
      const size_t hash = std::min(target.find('#'), target.size());
      const fs::path to = hash == 0 ? path : (path.parent_path() / target.substr(0, hash)).lexically_normal();
      ++links;
      EXPECT_TRUE(pages.contains(to)) << path << ": " << target;
      if (hash < target.size()) {
        EXPECT_TRUE(anchors[to].contains(target.substr(hash + 1))) << path << ": " << target;
      }
    }
  }
  EXPECT_GT(links, 100);
  fs::remove_all(site);
}

}  // namespace
}  // namespace hlo
