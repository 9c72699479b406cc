/**
 * `npm run pictures -- FOLDER`: the screens of `/tree`, `/rewind` and `/review` on a real Pi, in dark and light, as
 * pictures to look at. HTML always; PNG where a Chromium is found.
 */
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { step } from "../support/pi.ts";
import type { GroundName } from "../support/screenshot.ts";
import type { TuiPi } from "../support/tui.ts";
import { createWorld } from "../support/world.ts";

const login = (limit: string): string => `import { check } from "./password.ts";

${limit}export async function login(name: string, password: string): Promise<boolean> {
	const account = await find(name);
	if (account === undefined) return false;
	return check(account, password);
}
`;

const files = {
	"README.md": "# Accounts\n\nSign in, sign out.\n",
	"src/login.ts": login(""),
	"src/old.css": "body { margin: 0 }\nform { padding: 1em }\np { line-height: 1.4 }\n",
	"logo.png": "\u0089PNG\u0000one",
	"todo.txt": "limit attempts\n",
};

const sizes = { wide: [92, 22], narrow: [40, 12] } as const;

async function draw(folder: string, ground: GroundName): Promise<string[]> {
	await using world = createWorld({ files });
	await using pi = await world.tui({
		columns: sizes.wide[0],
		rows: sizes.wide[1],
		timeoutMs: 60_000,
		settings: { theme: ground },
	});
	const drawn: string[] = [];
	const shoot = async (name: string): Promise<void> => {
		await pi.calm();
		drawn.push(...pi.picture(join(folder, `${name}-${ground}`), ground));
	};
	await pi.prompt("What does this project do?", "It lets people sign in and out.");
	await pi.prompt(
		"Add a sign-up form",
		step.write("src/sign-up.ts", "export const form = 1;\n"),
		"The form works.",
	);
	await pi.prompt(
		"Now limit login attempts, and clean up the styles 日本語",
		step.write("src/login.ts", login("const attemptsMax = 5;\n\n")),
		step.bash(
			"mkdir src/css; mv src/old.css src/css/form.css; rm todo.txt; printf 'PNG\\0two' > logo.png",
		),
		"Five attempts, then a pause.",
	);
	world.write("README.md", "# Accounts\n\nSign in, sign up, sign out.\n");
	for (const [size, [columns, rows]] of Object.entries(sizes)) {
		await pi.resize(columns, rows);
		await pi.slash("/rewind", /Rewind {2}to before which prompt/);
		await pi.waitFor(/⬥ Now limit/);
		await shoot(`rewind-1-timeline-${size}`);
		pi.keys("Enter");
		await pi.waitFor(/Conversation only/);
		await shoot(`rewind-2-what-${size}`);
		pi.keys("Down", "Down", "Enter");
		await pi.waitFor(/Choose paths…/);
		pi.keys("Down", "Enter");
		await pi.waitFor(/go on/);
		pi.keys("Down", "Space");
		await shoot(`rewind-3-paths-${size}`);
		pi.keys("Enter");
		await pi.waitFor(/enter go back/);
		await shoot(`rewind-4-look-${size}`);
		await leave(pi);
		await pi.slash("/review", /Changes since/);
		pi.keys("Space", "Down", "Down");
		await shoot(`review-1-list-${size}`);
		pi.keys("Enter");
		await pi.waitFor(/revert/);
		await shoot(`review-2-file-${size}`);
		await leave(pi);
	}
	await pi.resize(...sizes.wide);
	await pi.slash("/tree", /Session Tree/);
	await pi.select(/user: Add a sign-up form/);
	await pi.waitFor(/Keep current files/);
	await shoot("tree");
	await pi.select(/Restore files/);
	await pi.waitFor(/takes it back/);
	await shoot("transcript");
	return drawn;
}

/** Back to Pi's own screen, from whatever screen of ours. */
async function leave(pi: TuiPi): Promise<void> {
	for (let presses = 0; presses < 6 && /esc (?:back|cancel|close)/.test(pi.screen()); presses++) {
		pi.keys("Escape");
		await pi.calm();
	}
	await pi.waitFor(/◆ \d+ points/);
}

const folder = resolve(process.argv[2] ?? "pictures");
mkdirSync(folder, { recursive: true });
for (const ground of ["dark", "light"] as const)
	console.log((await draw(folder, ground)).join("\n"));
