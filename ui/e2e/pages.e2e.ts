/** The pages that Sonde exports, each in both themes and on a phone: nobody is kept out of them. */

import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closePages, openBrowser, openPage, violations } from "./browsing";
import { PYTHON, temporaryDirectory } from "./serving";

const folder = temporaryDirectory();
const root = resolve(import.meta.dirname, "../..");
const made = spawnSync(PYTHON, ["-m", "tests.exported_pages", folder], { cwd: root, encoding: "utf8" });
if (made.status !== 0) throw new Error(made.stderr);
const pages = readdirSync(folder).filter((name) => name.endsWith(".html"));

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

describe.each(pages)("%s", (name) => {
  it.each([{}, { dark: true }, { width: 390, height: 844 }])("is for everybody, %j", async (options) => {
    const { page, faults } = await openPage(browser, { ...options, bypassCSP: true });
    await page.goto(pathToFileURL(join(folder, name)).href);
    expect(await violations(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(0);
    expect(faults).toEqual([]);
    await closePages(browser);
  });
});
