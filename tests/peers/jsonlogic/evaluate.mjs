// Evaluates conditions with json-logic-js: `node evaluate.mjs <node_modules> <file>`. The file is a JSON list of pairs of a rule
// and data; prints the list of `true`, `false`, or `null` where the reference throws.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [modules, file] = process.argv.slice(2);
const logic = createRequire(`${modules}/`)("json-logic-js");
// `log` writes to the console.
console.log = () => {};
const results = JSON.parse(readFileSync(file, "utf8")).map(([rule, data]) => {
  try {
    return logic.truthy(logic.apply(rule, data));
  } catch {
    return null;
  }
});
process.stdout.write(JSON.stringify(results));
