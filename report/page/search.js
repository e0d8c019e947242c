// SPDX-License-Identifier: MIT
// The page of `search`.
"use strict";

const PLAN_KEYS = ["tensor", "pipeline", "virtual_stages", "context", "data", "expert", "micro", "zero", "sequence", "recompute"];

page.kinds.search = function search({document: found, pictures = []}) {
  const plans = found.best.concat(found.others);
  const keys = PLAN_KEYS.filter((key) => new Set(plans.map(({plan}) => plan[key])).size > 1);
  const nameOf = ({plan}) => keys.map((key) => `${key} ${plan[key]}`).join(", ");
  const best = found.best[0];
  add(page.root, "h1", document.title);
  add(page.root, "p", `${found.job} on ${found.devices}: ${found.plans} plans use all devices, ` +
      (found.fit === undefined ? "which of them fit was not known when it was stopped" :
       `${found.fit} of them fit in ${bytesText(found.most_memory_bytes)} of memory`) +
      `, ${found.simulated} were simulated` + (found.stopped ? " before it was stopped" : "") +
      (found.next_bound_s === undefined ? "" : `; none of the others takes less than ${timeText(found.next_bound_s)}`));
  const items = [["Best", timeText(best.iteration_time_s), nameOf(best)]];
  const columns = page.figures.filter((figure) => figure.is_of_plans && figure.is_default);
  for (const figure of columns)
    if (best[figure.key] !== undefined) items.push([figure.heading, figureText(figure, best[figure.key]), "of the best"]);
  if (found.given)
    items.push(["As given", timeText(found.given.iteration_time_s), PLAN_KEYS.map((key) => `${key} ${found.given.plan[key]}`).join(", ")]);
  cards(items);
  for (const drawn of pictures) drawnPicture(section(drawn.heading), drawn);
  table(
      section("The best plans"), ["time", "lower bound", ...columns.map(({heading}) => heading), "memory", ...keys, "largest part"],
      found.best.map((one) => [
        [one.iteration_time_s, timeText(one.iteration_time_s)], [one.bound_s, timeText(one.bound_s)],
        ...columns.map((figure) => figureCell(figure, one[figure.key])), [one.memory_bytes, bytesText(one.memory_bytes)],
        ...keys.map((key) => [one.plan[key], String(one.plan[key])]), one.bound_by]),
      "The best plans");
  if (found.refused.length)
    table(
        section("Infeasible plans"), ["plans", "of the first"],
        found.refused.map((one) => [[one.plans, String(one.plans)], one.reason]), "Infeasible plans");
};
