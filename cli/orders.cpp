#include "orders.h"

#include <inlay/kernels/build.h>

#include <fmt/format.h>

namespace inlay::cli {
namespace {

using codegen::OrderClaim;

std::string file_of(const OrderClaim& claim) {
  const std::string file = claim.where.file_name();
  return file.substr(file.find_last_of('/') + 1);
}

} // namespace

codegen::SumOrders orders_of(const kernels::Artifact& artifact) {
  if (!artifact.source) return {};
  return codegen::sum_orders(codegen::expand(artifact.source->program));
}

std::string orders_text(const codegen::SumOrders& orders, std::size_t indent) {
  std::vector<std::pair<std::string, const OrderClaim*>> lines; // names of claims, and one of them
  for (const OrderClaim& c : orders.claims) {
    const auto same = [&](const auto& line) {
      const OrderClaim& of = *line.second;
      return c.verdict == of.verdict &&
             (c.verdict == OrderClaim::Verdict::proved || (c.reason == of.reason && c.op == of.op));
    };
    if (const auto at = std::find_if(lines.begin(), lines.end(), same); at != lines.end())
      at->first += ", " + c.claim;
    else
      lines.emplace_back(c.claim, &c);
  }
  std::string out;
  for (const auto& [names, claim] : lines) {
    if (!out.empty()) out += "\n" + std::string(indent, ' ');
    out += fmt::format("{} {}", codegen::to_string(claim->verdict), names);
    if (claim->verdict == OrderClaim::Verdict::proved) continue;
    out += ": " + claim->reason;
    if (claim->op >= 0)
      out += fmt::format(" (operation {}, {}:{})", claim->op, file_of(*claim), claim->where.line());
  }
  return out;
}

std::string orders_table(const codegen::SumOrders& orders) {
  std::string out;
  for (const OrderClaim& c : orders.claims)
    out +=
        fmt::format("{:<18} {:<72} {}{}\n", codegen::to_string(c.verdict), c.claim, c.reason,
                    c.op < 0 ? "" : fmt::format(", operation {}, {}:{}", c.op, file_of(c), c.where.line()));
  for (const codegen::SumOrder& o : orders.orders)
    out += fmt::format("{:<18} {:<72} {}\n", "order", o.output, o.order);
  return out;
}

nlohmann::ordered_json orders_json(const codegen::SumOrders& orders) {
  nlohmann::ordered_json claims = nlohmann::ordered_json::array(), sums = nlohmann::ordered_json::object();
  for (const OrderClaim& c : orders.claims) {
    nlohmann::ordered_json one = {
        {"claim", c.claim}, {"verdict", codegen::to_string(c.verdict)}, {"reason", c.reason}};
    if (c.op >= 0) one["operation"] = c.op, one["file"] = file_of(c), one["line"] = c.where.line();
    claims.push_back(std::move(one));
  }
  for (const codegen::SumOrder& o : orders.orders) sums[o.output] = o.order;
  return {{"claims", std::move(claims)}, {"sums", std::move(sums)}};
}

} // namespace inlay::cli
