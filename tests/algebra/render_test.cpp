// Pictures: each cell against the layout itself, each format against a reader of that format, and the whole
// text of every format against tests/algebra/render/ (INLAY_UPDATE_GOLDEN=1 rewrites those files; read the
// difference).
#include <inlay/algebra/error.h>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/render/html.h>
#include <inlay/algebra/render/json.h>
#include <inlay/algebra/render/latex.h>
#include <inlay/algebra/render/svg.h>
#include <inlay/algebra/render/text.h>
#include <inlay/algebra/render/views.h>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace render_test {

using namespace inlay;
using namespace inlay::literals;

namespace {

std::string error_code(const std::function<void()>& action) {
  try {
    action();
  } catch (const LayoutError& e) {
    return e.code();
  }
  return "";
}

void check_golden(const std::string& name, const std::string& actual) {
  const std::string path = std::string(INLAY_TESTS_DIR) + "/algebra/render/" + name;
  if (std::getenv("INLAY_UPDATE_GOLDEN")) {
    std::ofstream(path, std::ios::binary) << actual;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  std::ostringstream expected;
  expected << file.rdbuf();
  INFO("golden file " << name);
  CHECK(actual == expected.str());
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

/// Rows of 128 bytes read by 32 lanes at a time, 16 bytes a lane: the worst case of an LDS read.
Int row_offset(unsigned lane) { return Int(lane % 32 * 128 + lane / 32 * 16); }
/// The same through Sw<3,4,3>.
Int swizzled_offset(unsigned lane) {
  const std::int64_t x = row_offset(lane).value();
  return x ^ ((x >> 3) & 0x70);
}

/// ds_read_b128 on gfx942, as measured on MI300X: lanes 0-3 and 20-23 first, and so on.
BankModel read_b128() {
  BankModel model{"ds_read_b128 on gfx942", 16, 32, {}};
  const unsigned pairs[][2] = {{0, 20}, {32, 52}, {4, 16}, {36, 48}, {8, 28}, {40, 60}, {12, 24}, {44, 56}};
  for (const auto& [a, b] : pairs) {
    model.phases.emplace_back();
    for (const unsigned first : {a, b})
      for (unsigned lane = first; lane < first + 4; ++lane) model.phases.back().push_back(lane);
  }
  return model;
}

std::vector<Picture> all_views() {
  std::vector<Picture> pictures{layout_picture("((2,2),3):((24,2),8)"_layout),
                                layout_picture("(2,3,2):(1,-2,8)"_layout),
                                thread_value_picture("((2,2),(2,2)):((1,8),(2,4))"_layout, "(4,4)"_tuple)};
  pictures.push_back(bank_picture("rows of 128 bytes", row_offset, read_b128()));
  return pictures;
}

} // namespace

TEST_CASE("a cell shows the layout at its coordinate, index and value") {
  for (const char* text : {"((2,2),3):((24,2),8)", "8:3", "1:0", "(4,8):(8,1)", "(3,2,2):(1,-5,10)",
                           "((2,3),(2,2),(3,1)):((1,2),(6,12),(24,7))"}) {
    const Layout layout = parse_layout(text);
    const Picture picture = layout_picture(layout);
    INFO(text);
    std::size_t cells = 0;
    for (const Panel& panel : picture.panels) {
      REQUIRE(panel.cells.size() == panel.rows * panel.columns);
      REQUIRE(panel.column_labels.size() == panel.columns);
      for (const Cell& cell : panel.cells) {
        const Int i = parse_int(cell.index);
        CHECK(cell.value == to_string(layout(i)));
        CHECK(layout(parse_int_tuple(cell.coordinate)) == layout(i));
        CHECK(cell.colour == floor_mod(layout(i), 8).value());
        ++cells;
      }
    }
    CHECK(Int(cells) == layout.size());
  }
}

TEST_CASE("mode 0 runs down, mode 1 to the right, further modes make panels") {
  const Layout layout = "((2,2),3,(2,2)):((1,2),4,(12,24))"_layout;
  const Picture picture = layout_picture(layout);
  REQUIRE(picture.panels.size() == 4);
  for (std::size_t p = 0; p < 4; ++p)
    for (std::size_t row = 0; row < 4; ++row)
      for (std::size_t column = 0; column < 3; ++column)
        CHECK(picture.panels[p].at(row, column).label ==
              to_string(layout(IntTuple::of({Int(row), Int(column), Int(p)}))));
  CHECK(picture.panels[3].title == "(_,_,(1,1))");
}

TEST_CASE("basis strides show coordinates, swizzled layouts the offsets after the swizzle") {
  const Picture identity = layout_picture("(2,3):(1@0,1@1)"_layout);
  CHECK(identity.panels[0].at(1, 2).label == "(1,2)");
  const ComposedLayout swizzled = parse_composed_layout("Sw<2,1,3> o 0 o (8,8):(8,1)");
  const Picture picture = layout_picture(swizzled);
  for (Int i = 0; i < 64; i += 1) {
    const std::int64_t x = (i.value() % 8) * 8 + i.value() / 8;
    const auto row = static_cast<std::size_t>(i.value() % 8),
               column = static_cast<std::size_t>(i.value() / 8);
    CHECK(picture.panels[0].at(row, column).value == std::to_string(x ^ ((x & 0x30) >> 3)));
  }
}

TEST_CASE("a thread-value picture is the layout read backwards") {
  const Layout tv = "((4,2),(2,2)):((2,8),(1,16))"_layout;
  const Picture picture = thread_value_picture(tv, "(8,4)"_tuple);
  const Panel& panel = picture.panels.at(0);
  for (std::size_t t = 0; t < 8; ++t)
    for (std::size_t v = 0; v < 4; ++v) {
      const auto element = static_cast<std::size_t>(tv(IntTuple::of({Int(t), Int(v)})).value());
      const Cell& cell = panel.at(element % 8, element / 8);
      CHECK(cell.label == "T" + std::to_string(t) + "V" + std::to_string(v));
      CHECK(cell.threads == std::vector<unsigned>{static_cast<unsigned>(t)});
      CHECK(cell.colour == static_cast<int>(t % 8));
    }
}

TEST_CASE("replicated and unheld elements of a tile are seen") {
  const Picture picture = thread_value_picture("((2,2),2):((0,1),2)"_layout, "6"_tuple);
  const Panel& panel = picture.panels.at(0);
  CHECK(panel.at(0, 0).label == "T0V0+1");
  CHECK(panel.at(0, 0).threads == std::vector<unsigned>{0, 1});
  CHECK(panel.at(0, 1).note == "T2V0 T3V0");
  CHECK(panel.at(0, 4).threads.empty());
  CHECK(panel.at(0, 4).colour == -1);
  CHECK(picture.caption == "4 threads of 2 values on a tile 6, 4 of 6 elements held");
}

TEST_CASE("bank occupancy counts words by enumeration") {
  const BankModel model = read_b128();
  const Picture rows = bank_picture("rows", row_offset, model);
  CHECK(rows.caption == "ds_read_b128 on gfx942: 64 clocks, 8 at least; bank conflicts");
  CHECK(bank_picture("swizzled", swizzled_offset, model).caption ==
        "ds_read_b128 on gfx942: 8 clocks, 8 at least; no bank conflict");
  // One address for all lanes is a broadcast, not a conflict.
  CHECK(bank_picture(
            "broadcast", [](unsigned) { return Int(64); }, model)
            .caption == "ds_read_b128 on gfx942: 8 clocks, 8 at least; no bank conflict");
  for (std::size_t phase = 0; phase < model.phases.size(); ++phase)
    for (unsigned bank = 0; bank < 32; ++bank) {
      std::set<std::int64_t> words;
      for (const unsigned lane : model.phases[phase])
        for (std::int64_t byte = 0; byte < 16; ++byte) {
          const std::int64_t word = (row_offset(lane).value() + byte) / 4;
          if (word % 32 == bank) words.insert(word);
        }
      CHECK(rows.panels[0].at(phase, bank).value == std::to_string(words.size()));
    }
}

TEST_CASE("JSON says what the picture says") {
  const std::vector<Picture> pictures = all_views();
  const auto json = nlohmann::json::parse(render_json(pictures));
  CHECK(json["schema"] == "inlay.pictures/1");
  REQUIRE(json["pictures"].size() == pictures.size());
  const Layout layout = "((2,2),3):((24,2),8)"_layout;
  for (const auto& cell : json["pictures"][0]["panels"][0]["cells"])
    CHECK(cell["value"] == to_string(layout(parse_int(cell["index"].get<std::string>()))));
  CHECK(json["pictures"][2]["panels"][0]["palette"] == "pastel");
  CHECK(json["pictures"][2]["panels"][0]["cells"][0]["threads"] == nlohmann::json::array({0}));
  Picture odd = pictures[0];
  odd.title = "a \"quoted\" \\ <title>\n";
  CHECK(nlohmann::json::parse(render_json({odd}))["pictures"][0]["title"] == odd.title);
}

TEST_CASE("SVG is XML with a square and a tool tip a cell, inside its frame") {
  std::vector<Picture> pictures = all_views();
  pictures[0].title = "a < b & \"c\"";
  std::istringstream text(render_svg(pictures));
  boost::property_tree::ptree tree;
  boost::property_tree::read_xml(text, tree);
  const auto& svg = tree.get_child("svg");
  const int width = svg.get<int>("<xmlattr>.width"), height = svg.get<int>("<xmlattr>.height");
  std::size_t squares = 0;
  std::set<std::pair<int, int>> corners;
  for (const auto& [name, node] : svg) {
    if (name != "g") continue;
    ++squares;
    CHECK(!node.get<std::string>("title").empty());
    const int x = node.get<int>("rect.<xmlattr>.x"), y = node.get<int>("rect.<xmlattr>.y");
    CHECK(corners.insert({x, y}).second);
    CHECK(x + node.get<int>("rect.<xmlattr>.width") <= width);
    CHECK(y + node.get<int>("rect.<xmlattr>.height") <= height);
  }
  CHECK(squares == cell_count(pictures));
}

TEST_CASE("HTML is one page that needs nothing else") {
  const std::vector<Picture> pictures = all_views();
  const std::string page = render_html(pictures, "composition(a, b) <1>");
  CHECK(count(page, "<td ") == cell_count(pictures));
  CHECK(count(page, "<section>") == pictures.size());
  CHECK(count(page, "http") == 0);
  CHECK(count(page, "src=") == 0);
  CHECK(page.find("<title>composition(a, b) &lt;1&gt;</title>") != std::string::npos);
  CHECK(page.find("data-v=\"26\" data-i=\"3\" data-c=\"((1,1),0)\" data-k=\"v26\"") != std::string::npos);
  CHECK(page.find("data-k=\"T3\"") != std::string::npos);
}

TEST_CASE("LaTeX defines its colours, draws a node a cell and closes what it opens") {
  const std::vector<Picture> pictures = all_views();
  const std::string tex = render_latex(pictures);
  CHECK(count(tex, "minimum width=") == cell_count(pictures));
  CHECK(count(tex, "\\begin{") == count(tex, "\\end{"));
  CHECK(count(tex, "{") == count(tex, "}"));
  std::istringstream lines(tex);
  for (std::string line; std::getline(lines, line);) {
    const auto fill = line.find("fill=");
    if (fill == std::string::npos) continue;
    const std::string name = line.substr(fill + 5, line.find_first_of(",]", fill) - fill - 5);
    if (name != "white") CHECK(tex.find("\\definecolor{" + name + "}") != std::string::npos);
  }
  CHECK(tex.find("ds\\_read\\_b128") != std::string::npos);
}

TEST_CASE("text is painted only when asked") {
  const std::vector<Picture> pictures = all_views();
  CHECK(render_text(pictures).find('\x1b') == std::string::npos);
  const std::string painted = render_text(pictures, TextColour::on);
  std::string plain;
  for (std::size_t i = 0; i < painted.size(); ++i) {
    if (painted[i] == '\x1b')
      i = painted.find('m', i);
    else
      plain += painted[i];
  }
  // Without the paint it is the same table; blanks at the end of a painted line are part of the paint.
  std::istringstream a(plain), b(render_text(pictures));
  for (std::string x, y; std::getline(b, y);) {
    REQUIRE(std::getline(a, x));
    x.erase(x.find_last_not_of(' ') + 1);
    CHECK(x == y);
  }
}

TEST_CASE("what cannot be drawn is refused by name", "[error]") {
  CHECK(error_code([] { (void)layout_picture("(128,129):(1,128)"_layout); }) == "limit");
  CHECK(error_code([] { (void)layout_picture("(4611686018427387904,4):(1,1)"_layout); }) == "limit");
  CHECK(error_code([] { (void)render_latex({layout_picture("(64,65):(1,64)"_layout)}); }) == "limit");
  CHECK(error_code([] { (void)render_svg({layout_picture("(128,128):(1,128)"_layout)}); }).empty());
  CHECK(error_code([] { (void)thread_value_picture("8:1"_layout, "8"_tuple); }) == "rank");
  CHECK(error_code([] { (void)thread_value_picture("(4,2):(2,1)"_layout, "7"_tuple); }) == "range");
  CHECK(error_code([] { (void)thread_value_picture("(4,2):(-2,1)"_layout, "8"_tuple); }) == "range");
  CHECK(error_code([] {
          (void)mfma_pictures("", {"(4,2):(2,1)"_layout, "1:0"_layout, "1:0"_layout, "7"_tuple, {}, {}});
        }) == "range");
  CHECK(error_code([] {
          (void)bank_picture(
              "", [](unsigned) { return Int(-4); }, read_b128());
        }) == "range");
  try {
    (void)layout_picture("(256,256):(1,256)"_layout);
    FAIL("drawn");
  } catch (const LayoutError& e) {
    CHECK(std::string(e.what()) ==
          "draw: the drawing is too large\n"
          "  picture (256,256):(1,256)\n"
          "  where  65536 cells, and at most 16384 can be drawn\n"
          "  hint   draw one tile of it: mode 0 of zipped_divide(L, tiler), or a slice");
  }
}

TEST_CASE("golden pictures") {
  const std::vector<Picture> pictures = all_views();
  check_golden("views.txt", render_text(pictures));
  check_golden("views.ansi", render_text(pictures, TextColour::on));
  check_golden("views.svg", render_svg(pictures));
  check_golden("views.tex", render_latex(pictures));
  check_golden("views.html", render_html(pictures, "views"));
  check_golden("views.json", render_json(pictures));
  check_golden(
      "mfma_16x16x16.txt",
      render_text(mfma_pictures("16x16x16", {"((16,4),4):((1,64),16)"_layout, "((16,4),4):((1,64),16)"_layout,
                                             "((16,4),(4,1)):((16,4),(1,16))"_layout, "(16,16)"_tuple,
                                             "(16,16)"_tuple, "(16,16)"_tuple})));
  check_golden("mfma_32x32x8.txt",
               render_text(mfma_pictures("32x32x8",
                                         {"((32,2),4):((1,128),32)"_layout, "((32,2),4):((1,128),32)"_layout,
                                          "((32,2),(4,4)):((32,4),(1,8))"_layout, "(32,8)"_tuple,
                                          "(32,8)"_tuple, "(32,32)"_tuple})));
}

} // namespace render_test
