// Opens every session of a folder with Pi's own program, and adds up what it adds up itself: prints {file: totals}.
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, packages] = process.argv.slice(2);
const program = createRequire(`${packages}/`).resolve.paths("x")[0] + "/@mariozechner/pi-coding-agent/dist/index.js";
const { SessionManager } = await import(pathToFileURL(program));
const read = {};
for (const name of readdirSync(folder).sort()) {
  const totals = { messages: 0, calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: 0 };
  for (const message of SessionManager.open(`${folder}/${name}`).buildSessionContext().messages) {
    totals.messages += 1;
    if (message.role !== "assistant") continue;
    totals.calls += message.content.filter((block) => block.type === "toolCall").length;
    for (const part of ["input", "output", "cacheRead", "cacheWrite"]) totals[part] += message.usage[part];
    totals.cost += message.usage.cost.total;
  }
  read[name] = totals;
}
const listed = await SessionManager.list("/", folder);
console.log(JSON.stringify({ read, listed: listed.length }));
