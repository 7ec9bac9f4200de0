// Evaluates cases as JavaScript does: each content is the inside of a template literal, and the fields of the data are its variables.
import { readFileSync } from 'node:fs';
import process from 'node:process';

const tried = (run) => {
  try { return run(); } catch { return null; }
};
const answers = JSON.parse(readFileSync(process.argv[2], 'utf8')).map(({ template, data }) => {
  const literal = tried(() => new Function(...Object.keys(data), `return \`${template}\`;`));
  return { is_template: literal !== null, text: tried(() => literal(...Object.values(data))) };
});
process.stdout.write(JSON.stringify(answers));
