// A headless Chromium of the machine, looking at the page: what it complains about is kept, and nothing is downloaded.
import { accessSync, constants, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/** No sandbox: tests run as root in containers. The rest keeps it from calling home. */
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** Between two edits: the build in this folder instead of the one in the binary, under the policy that the hub sends. */
const BUILT = process.env.PROM_DASHBOARD_DIST ?? "";

const isProgram = (path) => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

function findChromium() {
  const named = process.env.CHROMIUM ?? "";
  if (named !== "") return named;
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find(isProgram);
}

/** For the `skip` of a test: why there is no browser, or `false`. In CI there has to be one. */
export function browserMissing() {
  const isCi = (process.env.CI ?? "") !== "";
  return findChromium() === undefined && !isCi ? "there is no Chromium here: install one, or set CHROMIUM to its path" : false;
}

export async function openBrowser() {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error("there is no Chromium here, and CI needs one");
  // A page that the test puts in comes from nowhere, and may not talk to this machine unless that is allowed.
  const more = BUILT === "" ? [] : ["--disable-features=LocalNetworkAccessChecks"];
  return chromium.launch({ executablePath, args: [...FLAGS, ...more] });
}

export const WIDE = { width: 1360, height: 900 };
export const PHONE = { width: 390, height: 844 };

/** A page that keeps what went wrong in it: scripts, the console, its policy, requests to elsewhere. */
export async function openPage(browser, hub, { scheme = "light", viewport = WIDE, token } = {}) {
  const context = await browser.newContext({ colorScheme: scheme, viewport, reducedMotion: "reduce", permissions: ["clipboard-read", "clipboard-write"] });
  const page = await context.newPage();
  const troubles = [];
  page.on("pageerror", (error) => troubles.push(`script: ${error.stack ?? error.message}`));
  page.on("console", (message) => {
    // The browser reports refusals of the hub as errors of its own; views show them.
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) troubles.push(`console: ${message.text()}`);
  });
  page.on("dialog", (dialog) => {
    troubles.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(hub.url) && !request.url().startsWith(hub.url.replace("http", "ws"))) troubles.push(`asks elsewhere: ${request.url()}`);
  });
  await page.addInitScript(() => {
    globalThis.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => globalThis.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
  });
  if (BUILT !== "") {
    await context.route((url) => url.href.startsWith(hub.url) && (url.pathname === "/" || url.pathname.startsWith("/dashboard/")), async (route) => {
      const response = await route.fetch();
      const name = new URL(route.request().url()).pathname.replace("/dashboard/", "").replace(/^\/$/, "index.html");
      const headers = Object.fromEntries(Object.entries(response.headers()).filter(([header]) => !["content-encoding", "content-length", "etag"].includes(header)));
      await route.fulfill({ status: 200, headers, body: readFileSync(join(BUILT, name)) });
    });
  }
  if (token !== undefined) await page.addInitScript((text) => sessionStorage.setItem("promethean.token", text), token);
  return {
    page,
    async go(hash) {
      const url = `${hub.url}/#/${hash}`;
      if (page.url().startsWith(hub.url)) await page.evaluate((to) => (location.hash = to), `#/${hash}`);
      else await page.goto(url);
      await page.waitForSelector("main");
    },
    async troubles() {
      const violations = await page.evaluate(() => globalThis.violations ?? []);
      return [...troubles, ...violations.map((one) => `policy: ${one}`)];
    },
    close: () => context.close(),
  };
}
