/**
 * From a feature in Live to its test on the run's own checkpoint, on the real model and a real run: clicked,
 * watched, stopped, reloaded, and taken up again after the server was killed; and while the run is still trained.
 */

import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { causalAddress } from "../src/causal/draft";
import { exampleDraft } from "../src/causal/examples";
import { EMPTY_FEATURES } from "../src/causal/featureDraft";
import { closePages, faultsOnPhone, openBrowser, openPage, picture, violations } from "./browsing";
import { freePort, PYTHON, Serving, temporaryDirectory } from "./serving";

const ROOT = resolve(import.meta.dirname, "../..");
const RUN = "trained";

function train(directory: string, steps: number): ChildProcess {
  const words = ["-m", "sonde", "train", "--output-dir", directory, "--max-steps", `${steps}`, "--save-steps", "1", "--threads", "1"];
  const env = { ...process.env, ALLOW_SECONDARY: "1", AEGIR_P5_OUTPUT_DIR: directory };
  return spawn(PYTHON, words, { cwd: ROOT, env, stdio: "ignore" });
}

/** A run of two steps with a checkpoint at each; SONDE_E2E_RUN names one that is there already. */
async function trained(directory: string): Promise<void> {
  const made = process.env.SONDE_E2E_RUN;
  if (made !== undefined && existsSync(made)) {
    cpSync(made, directory, { recursive: true });
    return;
  }
  const [status] = (await once(train(directory, 2), "exit")) as [number | null];
  expect(status).toBe(0);
}

const place = { port: 0, dataDirectory: temporaryDirectory() };
let browser: Browser;
let server: Serving;

beforeAll(async () => {
  await trained(join(place.dataDirectory, "runs", RUN));
  place.port = await freePort();
  [browser, server] = await Promise.all([openBrowser(), Serving.start(place)]);
}, 900_000);
afterEach(() => closePages(browser));
afterAll(async () => {
  await Promise.all([browser.close(), server.kill()]);
});

/** A generation is opened from the list, and its feature's button clicked. -> milliseconds to the first bar */
async function click(page: Page): Promise<number> {
  await page.getByRole("button", { name: /^\d+-\d+$/ }).first().click();
  const button = page.getByRole("button", { name: "Test it" });
  await button.waitFor();
  const began = Date.now();
  await button.click();
  await page.locator('tr[data-done="true"]').first().waitFor();
  return Date.now() - began;
}

it("a click fills bars beside random directions, and says how features were chosen", async () => {
  const { page, faults } = await openPage(browser);
  await page.goto(`${server.url}/live/${RUN}`);
  const milliseconds = await click(page);
  process.stdout.write(`first bar ${milliseconds} ms after the click, the checkpoint not loaded before\n`);
  await page.locator(".verdict").waitFor();
  await expect.poll(() => page.locator(".verdict").textContent()).toMatch(/^Of 6 features that attribution put first, \d/);
  const rows = page.getByRole("region", { name: "Effects of features, table" }).locator("tbody tr");
  const texts = await rows.allInnerTexts();
  expect(texts.length).toBeGreaterThanOrEqual(6);
  expect(texts.filter((text) => text.includes("brightest"))).toHaveLength(3);
  for (const text of texts) expect(text).toMatch(/[+\u2212]?\d+\.\d\d\s+[+\u2212]?\d+\.\d\d to/);
  const before = texts.join("\n");

  await page.reload();
  await page.locator(".verdict").waitFor();
  await expect.poll(async () => (await rows.allInnerTexts()).join("\n"), { timeout: 15_000 }).toBe(before);
  expect(await violations(page)).toEqual([]);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV" }).click()]);
  expect(download.suggestedFilename()).toMatch(/^test-.*\.csv$/);
  await page.getByRole("region", { name: "Tests made so far, table" }).getByText("finished").first().waitFor();
  await page.getByRole("link", { name: "In the history" }).click();
  await page.waitForURL(/\/causal\/[\w-]+\?as=table/);
  expect(faults).toEqual([]);
});

it("a stranger comes from the first page to a feature that is judged on a checkpoint, in fewer than ten clicks", async () => {
  const { page, faults } = await openPage(browser, { height: 1000 });
  await page.addInitScript(() => {
    const count = () => sessionStorage.setItem("clicks", String(Number(sessionStorage.getItem("clicks") ?? "0") + 1));
    window.addEventListener("click", count, true);
  });
  await page.goto(`${server.url}/`);
  await page.locator(".door", { hasText: "Live" }).click();
  await page.getByRole("button", { name: /^\d+-\d+$/ }).first().click();
  await page.getByRole("button", { name: "Test it" }).waitFor();
  await picture(page, "finding-generation", { of: "body", height: 690 });
  await page.getByRole("button", { name: "Test it" }).click();
  const finding = page.getByText(/^(\d+:\d+ matters|None is beyond chance)/);
  await finding.waitFor();
  const said = await finding.innerText();
  expect(said).toMatch(/\d+:\d+.*removed, it moves .* by [+\u2212]\d.*, 19 random directions as long by at most \d.*\(p \d/);
  await page.getByText(/On trained@checkpoint-\d: each feature/).waitFor();
  await picture(page, "finding-test", { of: "body", height: 1000 });
  const name = /\d+:\d+/.exec(said)?.[0] ?? "";
  await page.getByRole("region", { name: "Effects of features, table" }).getByRole("button", { name, exact: true }).click();
  await page.getByRole("link", { name: "All about this feature" }).click();
  await page.getByRole("heading", { name: `Feature ${name.split(":")[1] ?? ""}` }).waitFor();
  await page.getByRole("heading", { name: "What it means" }).waitFor();
  await page.getByRole("region", { name: "Causal tests made so far, table" }).getByRole("link", { name: /^trained@checkpoint-\d$/ }).first().waitFor();
  await page.getByRole("heading", { name: /^Where it was strongest/ }).waitFor();
  await picture(page, "finding-feature", { of: "body", height: 1000 });
  const clicks = await page.evaluate(() => Number(sessionStorage.getItem("clicks")));
  process.stdout.write(`from the first page to what the feature means: ${clicks} clicks\n`);
  expect(clicks).toBe(5);
  expect(await violations(page)).toEqual([]);
  expect(faults).toEqual([]);
});

it("a token is tested in place, by keys alone, and what was said after it is the answer", async () => {
  const { page, faults } = await openPage(browser);
  await page.goto(`${server.url}/live/${RUN}`);
  await page.getByRole("button", { name: /^\d+-\d+$/ }).first().click();
  const strip = page.getByRole("group", { name: "Tokens of the completion" });
  await strip.getByRole("button", { name: /^end.of.prompt/ }).focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await strip.getByRole("button", { pressed: true }).waitFor();
  const pieces = await strip.getByRole("button").allInnerTexts();
  const titles = await strip.getByRole("button").evaluateAll((tokens) => tokens.map((token) => token.getAttribute("title")));
  for (const title of titles) expect(title).toMatch(/^position -?\d+: (activation \d|not recorded$|not among the strongest$)/);
  expect(titles.filter((title) => title?.includes("activation")).length, "where the feature is active, its value").toBeGreaterThan(0);
  const chosen = page.getByRole("group", { name: `Token \u201C${pieces[2] ?? ""}\u201D` });
  await chosen.getByText(`\u201C${pieces[3] ?? ""}\u201D, said next,`).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.locator('tr[data-done="true"]').first().waitFor();
  await page.locator(".verdict").waitFor();
  expect(await page.getByLabel("End of the prompt").locator("b + bdi").textContent()).toBe(pieces[3]);
  expect(faults).toEqual([]);
});

it("one that is stopped keeps its bars, and runs again", async () => {
  const { page } = await openPage(browser);
  await page.goto(`${server.url}/live/${RUN}`);
  await page.getByRole("button", { name: /^\d+-\d+$/ }).nth(3).click();
  await page.getByRole("button", { name: "Test it" }).click();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("This test was stopped").waitFor();
  await page.getByRole("button", { name: "Run it again" }).click();
  await page.locator(".verdict").waitFor();
});

it("the server is killed in between, and the page goes on when it is back", async () => {
  const { page } = await openPage(browser);
  await page.goto(`${server.url}/live/${RUN}`);
  await page.getByRole("button", { name: /^\d+-\d+$/ }).nth(5).click();
  await page.getByRole("button", { name: "Test it" }).click();
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await server.kill();
  await page.getByText("connection lost, trying again").waitFor();
  server = await Serving.start(place);
  await page.getByText("The server ended while this test ran").waitFor();
  await page.getByRole("button", { name: "Run it again" }).click();
  await page.locator(".verdict").waitFor();
});

it("the reward is tested by a click: interval, random directions, and a verdict that a reload keeps", async () => {
  const { page, faults } = await openPage(browser);
  await page.route("**/v1/sweeps", async (route) => { // as clicked, and smaller: four prompts, two random directions
    if (route.request().method() !== "POST") return route.continue();
    const asked = route.request().postDataJSON() as { features: object; reward: object };
    const postData = { ...asked, features: { ...asked.features, draws: 2 }, reward: { ...asked.reward, prompts: 4 } };
    return route.continue({ postData: JSON.stringify(postData) });
  });
  await page.goto(`${server.url}/live/${RUN}`);
  await page.getByRole("button", { name: /^\d+-\d+$/ }).first().click();
  await page.getByRole("button", { name: "Test the reward" }).click();
  await page.getByText(/sampling with .*: \d of 4 completions/).waitFor();
  await page.getByText("Mean reward without a change").waitFor();
  const owed = page.getByRole("region", { name: "What the reward owes, table" }).locator("tbody tr");
  await page.getByRole("button", { name: "CSV" }).waitFor();
  const rows = await owed.allInnerTexts();
  expect(rows).toHaveLength(1);
  expect(rows[0]).toMatch(/\d+:\d+\s.*[+\u2212]?\d\.\d{3}.*\d of 4/s);
  expect(await owed.locator(".effect-random").count()).toBe(2);
  expect(await page.getByLabel("End of the prompt").count()).toBe(0);
  const verdict = await page.locator(".verdict").textContent();
  expect(verdict).not.toBe("");

  await page.reload();
  await expect.poll(() => page.locator(".verdict").textContent()).toBe(verdict);
  expect(await owed.allInnerTexts()).toEqual(rows);
  expect(await violations(page)).toEqual([]);
  expect(faults).toEqual([]);
});

it("a sweep goes through the run's checkpoints: steps by layers, one step against another, by the address", async () => {
  const { page, faults } = await openPage(browser, { height: 1300 });
  await page.goto(server.url + causalAddress({ ...exampleDraft("eiffel"), layers: "0:30:6", hooks: ["post_block", "mlp_out"] }));
  await page.getByLabel("Weights").selectOption(RUN);
  await page.waitForURL(/through=/);
  await page.getByText(/cells.*about/).waitFor();
  await page.getByRole("button", { name: "Start sweep" }).click();
  await page.getByRole("heading", { name: "One step against another" }).waitFor();
  const labels = await page.locator(".panel").first().locator(".heatmap-rows span").allInnerTexts();
  expect(labels).toEqual(["1", "2"]);
  expect(await page.locator(".panel canvas").count(), "two hooks: the course, A, B, and A minus B").toBe(8);
  await page.getByLabel("A:").selectOption("1");
  await page.waitForURL(/step=1/);
  await page.getByRole("region", { name: "step 2" }).waitFor();
  await page.getByText("What each checkpoint is read against").click();
  expect(await page.getByRole("region", { name: "Checkpoints, table" }).locator("tbody tr").count()).toBe(2);
  expect(await violations(page)).toEqual([]);
  await picture(page, "causal-checkpoints", { of: ".result" });
  expect(await faultsOnPhone(page)).toEqual([]);
  await page.setViewportSize({ width: 1440, height: 1300 });

  // Features of the run's own dictionary, through the same checkpoints.
  const features = { ...EMPTY_FEATURES, layer: 15, top: 3 };
  await page.goto(server.url + causalAddress({ ...exampleDraft("eiffel"), over: "features", features, course: { run: RUN, steps: "all" } }));
  await page.getByText(/cells.*about/).waitFor();
  await page.getByRole("button", { name: "Start sweep" }).click();
  await page.getByRole("heading", { name: "One step against another" }).waitFor();
  expect(await page.locator(".panel").first().locator(".heatmap-columns span").first().innerText()).toMatch(/^15:\d+$/);
  expect(faults).toEqual([]);
});

it("what changed is told once the command that stands there was run, and a feature of it is opened", async () => {
  const { page, faults } = await openPage(browser);
  await page.goto(`${server.url}/live/${RUN}`);
  const panel = page.getByRole("region", { name: "What changed", exact: true });
  await panel.getByText("Checkpoints have not been compared").waitFor();
  const command = await panel.getByLabel("Command that compares checkpoints").innerText();
  const directory = join(place.dataDirectory, "runs", RUN);
  expect(command).toBe(`sonde runs changed ${directory}`);
  const words = ["-m", "sonde", ...command.split(" ").slice(1), "--probes", "3", "--features", "2", "--draws", "1"];
  await promisify(execFile)(PYTHON, words, { cwd: ROOT });
  await page.reload();
  await panel.getByText(/^From the model it began as to checkpoint-\d+, \d+ tokens of 3 completions gained .* in log-probability together\./).waitFor();
  const table = (label: string) => panel.getByRole("region", { name: `${label}, table` }).locator("tbody tr");
  expect(await table("Tokens that gained").count()).toBeGreaterThan(0);
  expect(await table("Places that gained the most").count()).toBeGreaterThan(0);
  await panel.getByText("Layers put back as a table").click();
  const layers = panel.getByRole("table", { name: "Layers put back" }).locator("tbody tr");
  expect(await layers.count()).toBe(30);
  expect(await panel.locator(".layer-moves title").count()).toBe(30);
  expect((await layers.locator("td:last-child").allInnerTexts()).filter((text) => text !== "").length, "watched layers").toBe(2);
  const feature = table("Features that moved").first().getByRole("button");
  const name = (await feature.innerText()).replace(":", ".");
  expect(await violations(page)).toEqual([]);
  await feature.click();
  await page.waitForURL((url) => url.search.includes(`feature=${name}`));
  expect(faults).toEqual([]);
});

it("a run that is still trained is tested on a checkpoint it has by now, and goes on", async () => {
  const directory = join(place.dataDirectory, "runs", "growing");
  const trainer = train(directory, 1000);
  const killed = () => trainer.kill("SIGKILL");
  process.once("exit", killed); // also when the tests are broken off
  try {
    const saved = () => existsSync(directory) && readdirSync(directory).some((name) => /^checkpoint-\d+$/.test(name));
    await expect.poll(saved, { timeout: 240_000, interval: 500 }).toBe(true);
    const { page, faults } = await openPage(browser);
    await page.goto(`${server.url}/live/growing`);
    await page.locator(".run-head").getByText(/ · running · /).waitFor();
    const milliseconds = await click(page);
    process.stdout.write(`first bar ${milliseconds} ms after the click, beside the trainer\n`);
    await page.locator(".verdict").waitFor();
    await page.getByText(/On growing@checkpoint-\d+: each feature/).waitFor();
    const newest = page.getByRole("region", { name: "Generations, table" }).getByRole("button").first();
    const before = await newest.textContent();
    await expect.poll(() => newest.textContent(), { timeout: 120_000 }).not.toBe(before);
    expect(trainer.exitCode).toBeNull();
    expect(faults).toEqual([]);
  } finally {
    process.off("exit", killed);
    const ended = once(trainer, "exit");
    if (trainer.exitCode === null && killed()) await ended;
  }
});
