#include <inlay/algebra/render/json.h>

namespace inlay {
namespace {

std::string quoted(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string safe = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      safe += '\\';
      safe += c;
    } else if (byte < 0x20) {
      safe += "\\u00";
      safe += digits[byte / 16];
      safe += digits[byte % 16];
    } else {
      safe += c;
    }
  }
  return safe + "\"";
}

template <class Items, class Print>
std::string array(const Items& items, Print print) {
  std::string text = "[";
  for (const auto& item : items) text += (text.size() > 1 ? "," : "") + print(item);
  return text + "]";
}

/// Members in the order given, empty ones left out.
class Object {
public:
  Object& text(const char* name, std::string_view value) {
    return value.empty() ? *this : raw(name, quoted(value));
  }
  Object& number(const char* name, long long value) { return raw(name, std::to_string(value)); }
  Object& raw(const char* name, const std::string& value) {
    body_ += (body_.empty() ? "" : ",") + quoted(name) + ":" + value;
    return *this;
  }
  [[nodiscard]] std::string str() const { return "{" + body_ + "}"; }

private:
  std::string body_;
};

std::string print(const Cell& cell) {
  Object o;
  o.text("label", cell.label)
      .text("value", cell.value)
      .text("index", cell.index)
      .text("coordinate", cell.coordinate);
  if (cell.colour >= 0) o.number("colour", cell.colour);
  if (!cell.threads.empty())
    o.raw("threads", array(cell.threads, [](unsigned t) { return std::to_string(t); }));
  return o.text("note", cell.note).str();
}

std::string print(const Panel& panel) {
  const char* const palettes[] = {"grey", "pastel", "load"};
  return Object()
      .text("title", panel.title)
      .text("palette", palettes[static_cast<std::size_t>(panel.palette)])
      .number("rows", static_cast<long long>(panel.rows))
      .number("columns", static_cast<long long>(panel.columns))
      .raw("row_labels", array(panel.row_labels, quoted))
      .raw("column_labels", array(panel.column_labels, quoted))
      .raw("cells", array(panel.cells, [](const Cell& cell) { return print(cell); }))
      .str();
}

} // namespace

std::string render_json(const std::vector<Picture>& pictures) {
  check_drawable("as JSON", cell_count(pictures), max_picture_cells);
  return Object()
             .text("schema", "inlay.pictures/1")
             .raw("pictures",
                  array(pictures,
                        [](const Picture& picture) {
                          return Object()
                              .text("title", picture.title)
                              .text("caption", picture.caption)
                              .raw("panels",
                                   array(picture.panels, [](const Panel& panel) { return print(panel); }))
                              .str();
                        }))
             .str() +
         "\n";
}

} // namespace inlay
