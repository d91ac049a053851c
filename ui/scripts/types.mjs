// Types of the server's API from its OpenAPI document; with --check, only whether they are current.
import { readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const target = new URL("../src/api/schema.generated.ts", import.meta.url);
const document = JSON.parse(readFileSync(new URL("../openapi.json", import.meta.url), "utf8"));
const head = "// Written by `make ui-types` from openapi.json: do not edit.\n\n";
const made = head + astToString(await openapiTS(document, { defaultNonNullable: false, silent: true }));

if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== made) {
    console.error("src/api/schema.generated.ts is not what openapi.json says: run `make ui-types`");
    process.exit(1);
  }
} else {
  writeFileSync(target, made);
}
