// Asks the search of a built site: node search.js SITE QUESTION...; prints for each question the pages it finds, in order.
const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");

const [site, ...questions] = process.argv.slice(2);
const index = JSON.parse(fs.readFileSync(path.join(site, "search.json"), "utf-8"));
const folder = path.join(site, "assets", "javascripts", "workers");
const [program] = fs.readdirSync(folder).filter((name) => /^search\..*\.js$/.test(name));

// The search is a worker of the browser: it is told of itself as `self`, and answers by messages.
let answered;
globalThis.self = { postMessage: (message) => answered(message) };
vm.runInThisContext(fs.readFileSync(path.join(folder, program), "utf-8"));
const ask = (type, data) =>
  new Promise((resolve) => {
    answered = resolve;
    self.onmessage({ data: { type, data } });
  });

(async () => {
  await ask(0, index);
  for (const input of questions) {
    const found = await ask(2, { input, filter: { input: [], aggregation: { input: [] } } });
    const pages = found.data.items.map((item) => index.items[item.id].location.split("#")[0]);
    console.log(JSON.stringify([...new Set(pages)]));
  }
})();
