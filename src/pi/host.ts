/**
 * Pi's events, in the order Pi sends them, handed to the recorder and the navigation.
 *
 * Owns the life of one session: opens it at `session_start`, ends it at `session_shutdown`. Module state outlives a
 * session in Pi (the factory runs again in the same module): the fork's handover and the log of session files do so on
 * purpose.
 *
 * Limit: Pi 0.84 does not abort a running tool at quit; what it writes after the last boundary has no point.
 */
import {
	CONFIG_DIR_NAME,
	type ExtensionAPI,
	type ExtensionContext,
	getAgentDir,
} from "@earendil-works/pi-coding-agent";
import { resolve } from "node:path";
import { describeError } from "../core/errors.ts";
import type { Chain } from "../core/lineage.ts";
import type { SnapshotId } from "../core/ids.ts";
import { decodeSettings, isMutatingTool, type Settings } from "../core/settings.ts";
import type { OpenEngine } from "../engine/open.ts";
import type { Rewind } from "../engine/rewind.ts";
import { createEngines } from "./engines.ts";
import { listenToIntegrations } from "./integrations.ts";
import type { Departure } from "./moves.ts";
import { createNavigation, type Navigation } from "./navigation.ts";
import { afterRedraw, type Notify, notify, notifySilently } from "./notices.ts";
import type { RewindDeps } from "./rewind.ts";
import { registerRewind } from "./rewind-command.ts";
import { createRecorder, type Recorder } from "./recorder.ts";
import { offerRecovery } from "./recovery.ts";
import { registerReview } from "./review-command.ts";
import { openSession, type Session } from "./session.ts";
import { createSweeper, type Sweeper } from "./sweeper.ts";
import { createCatalog } from "../sessions/catalog.ts";
import { createSessionLog, readForkPending } from "../sessions/log.ts";
import { readSettingsLayers } from "../sessions/settings-files.ts";
import { createStatus } from "./status.ts";
import { registerTranscript } from "./transcript.ts";

/** What a parent hands to the child of its fork: the old instance writes it, the new one takes it, once. */
interface Handover extends Departure {
	/** Absent for an ephemeral parent. */
	readonly parentFile: string | undefined;
}
let handover: Handover | undefined;

/** This copy has said that it stands down; once is enough. */
let stoodDown = false;

/** Which instance of the extension is at work in this process; a second copy stands down. */
const claimKey = Symbol.for("pi-rewind.active");

/** A session that is open: everything that ends with it. */
interface Live {
	readonly session: Session;
	readonly settings: Settings;
	readonly recorder: Recorder;
	readonly navigation: Navigation;
	readonly sweeper: Sweeper;
	engine(): Promise<Rewind | undefined>;
	readonly notify: Notify;
	/** Why there is no engine. */
	whyNone(): string;
	/** Ends what runs in the background and waits, not for ever, until every boundary is recorded. */
	settle(): Promise<void>;
	close(): Promise<void>;
}

/** How long a shutdown waits for boundaries that are being captured; what takes longer has no point. */
const shutdownMs = 10_000;

const log = createSessionLog();
const catalog = createCatalog(log);

/** Registers everything with Pi. Called once per session: the factory runs anew for each. */
export function startHost(pi: ExtensionAPI, openEngine: OpenEngine, clock: () => number): void {
	const token = {};
	let live: Live | undefined;
	let running = false;
	/** The signal of a compaction that is under way: Pi 0.84 lets the conversation move in the middle of it. */
	let compacting: AbortSignal | undefined;

	registerRewind(pi, { open: openCommand, clock });
	registerReview(pi, { open: openCommand });
	registerTranscript(pi, () => live?.settings.safetySnapshot ?? false);
	const integrations = listenToIntegrations(pi, {
		allows: (source) => live?.settings.integrations.includes(source) ?? false,
		bindNow: (entryId) => {
			if (live?.session.entry(entryId) !== undefined) live.recorder.bindNow(entryId);
		},
	});

	pi.on("session_start", async (event, ctx) => {
		const claimed = claim(token, ctx.sessionManager.getSessionId());
		if (claimed !== "ours") {
			if (claimed === "twice" && !stoodDown)
				notify(ctx, "rewind is loaded twice; this copy stands down", "info");
			stoodDown = true;
			return;
		}
		// 0.84 sends this twice over RPC.
		if (live !== undefined && live.session.owner.sessionId === ctx.sessionManager.getSessionId())
			return;
		await live?.close();
		running = false;
		const given = event.reason === "fork" ? takeHandover(event.previousSessionFile) : undefined;
		live = await openLive(ctx, given?.chain ?? []);
		if (given?.trouble !== undefined) afterRedraw(notify)(ctx, given.trouble, "error");
		if (given !== undefined) live.session.appendOp(given.draft);
		else if (event.reason === "fork") await takeOverPending(live, event.previousSessionFile);
	});

	async function openCommand(): Promise<RewindDeps | undefined> {
		if (live === undefined) return undefined;
		const { session, settings, navigation, recorder, notify: say } = live;
		const engine = await live.engine();
		await recorder.settled();
		const whyNone = live.whyNone();
		return { session, settings, navigation, engine, whyNone, whyBusy, notify: say };
	}

	function whyBusy(ctx: ExtensionContext): string | undefined {
		if (compacting?.aborted === false)
			return "a compaction is under way: try again when it has ended";
		return running || !ctx.isIdle() ? "an agent is running: finish or abort it first" : undefined;
	}

	async function openLive(ctx: ExtensionContext, inherited: Chain): Promise<Live> {
		const agentDir = getAgentDir();
		const read = await readSettingsLayers({
			agentDir,
			cwd: ctx.cwd,
			configDirName: CONFIG_DIR_NAME,
			projectTrusted: ctx.isProjectTrusted(),
		});
		const { settings, issues } = decodeSettings(read.layers);
		for (const issue of [...read.issues, ...issues]) notify(ctx, issue, "warning");
		const session = openSession(pi, ctx, log, inherited);
		const say = settings.silentCheckpoints ? notifySilently : notify;
		const status = createStatus(ctx, session, settings, say);
		let whyNone = "";
		const engines = createEngines(openEngine, {
			cwd: ctx.cwd,
			agentDir,
			sessionDir: ctx.sessionManager.getSessionDir(),
			settings,
			owner: session.owner,
			onOpened(opened) {
				whyNone = opened.kind === "unavailable" ? `no points here, ${opened.message}` : "";
				status.opened(opened);
			},
		});
		const sweeper = createSweeper({
			session,
			retention: settings.retention,
			catalog,
			agentDir,
			sessionDir: ctx.sessionManager.getSessionDir(),
			engine: engines.get,
			onFailure: (error) =>
				say(ctx, `No old points went, all are kept: ${describeError(error)}`, "warning"),
		});
		const ending = new AbortController();
		const recorder = createRecorder({
			session,
			capture: async (request) => {
				const engine = settings.autoSnapshots ? await engines.get() : undefined;
				const captured = await engine?.capture({ ...request, signal: ending.signal });
				if (captured?.reused === false) sweeper.counted();
				return captured;
			},
			onPoint: status.point,
			onFailure: status.failed,
		});
		const navigation = createNavigation({
			session,
			recorder,
			settings,
			engine: engines.get,
			isRunning: () => running,
			takeForkPreference: integrations.takeForkPreference,
			notify: say,
		});
		const opened: Live = {
			session,
			settings,
			recorder,
			navigation,
			sweeper,
			engine: engines.get,
			notify: say,
			whyNone: () => whyNone,
			async settle() {
				warming.abort();
				const timer = setTimeout(() => ending.abort(), shutdownMs);
				await recorder.settled();
				clearTimeout(timer);
			},
			async close() {
				await opened.settle();
				await navigation.forget();
				await engines.close();
			},
		};
		// In the background: the first capture of a working tree reads all of it.
		const warming = new AbortController();
		void warmUp(opened, ctx, say, warming.signal);
		return opened;
	}

	/** Nothing of it is bound to an entry, so it can stop at any moment. */
	async function warmUp(
		{ engine: open, session, recorder, settings, sweeper }: Live,
		ctx: ExtensionContext,
		say: Notify,
		signal: AbortSignal,
	): Promise<void> {
		try {
			const engine = await open();
			if (engine === undefined || signal.aborted) return;
			await sweeper.claim();
			await tellUnreadable(session, ctx, say);
			const isBusy = (): boolean => running || signal.aborted;
			await offerRecovery({ engine, session, recorder, isBusy, signal }, ctx, say);
			if (signal.aborted) return;
			await engine.clearLeftovers();
			if (settings.autoSnapshots) await engine.capture({ owner: session.owner, signal });
			await sweeper.begin();
		} catch (error) {
			// The boundaries that follow say the same if it lasts; a session that ended needs to hear nothing.
			if (!signal.aborted) say(ctx, `rewind: ${describeError(error)}`, "warning");
		}
	}

	/** [R10] Skipped, but not in silence. */
	async function tellUnreadable(
		session: Session,
		ctx: ExtensionContext,
		say: Notify,
	): Promise<void> {
		const { chain } = await session.lineage();
		const count = chain.reduce((sum, { ledger }) => sum + ledger.rejected + ledger.dropped, 0);
		if (count > 0)
			say(
				ctx,
				`${count} records of rewind cannot be read and are ignored; all others work`,
				"info",
			);
	}

	pi.on("before_agent_start", () => live?.recorder.promptBegins());
	pi.on("agent_start", () => {
		running = true;
		compacting = undefined;
	});
	pi.on("message_start", (event) => {
		if (event.message.role === "user") live?.recorder.userMessageStarts(event.message);
	});
	pi.on("context", () => live?.recorder.bindWaiting());
	pi.on("tool_call", async (event) => {
		if (live === undefined) return;
		live.recorder.bindWaiting();
		if (isMutatingTool(event.toolName, live.settings)) await live.recorder.beforeChange();
	});
	pi.on("user_bash", async () => {
		await live?.recorder.beforeChange();
	});
	pi.on("turn_end", (event) => {
		// The entry's id comes with the event since 0.87; before, the entry is found by its message.
		live?.recorder.turnEnds(event.message, event.messageEntryId);
	});
	pi.on("agent_end", () => live?.recorder.runEnds());
	pi.on("agent_settled", async () => {
		running = false;
		// The run is over, nobody waits for a next turn: who sees it settled finds it recorded.
		await live?.recorder.settled();
	});
	pi.on("session_before_compact", ({ signal }) => {
		compacting = signal;
	});
	pi.on("session_compact_failed", () => {
		compacting = undefined;
	});
	pi.on("session_compact", () => {
		compacting = undefined;
		// The event can name an older compaction with the same text; the branch's newest is the one just made.
		const entry = live?.session.branch().findLast(({ type }) => type === "compaction");
		if (entry !== undefined) live?.recorder.bindNow(entry.id);
	});

	pi.on("session_before_tree", (event, ctx) =>
		live?.navigation.beforeTree(event.preparation.targetId, event.signal, ctx),
	);
	pi.on("session_tree", async (event, ctx) => {
		await live?.navigation.afterTree(event.newLeafId, event.summaryEntry?.id, ctx);
	});
	pi.on("session_before_fork", (event, ctx) =>
		live?.navigation.beforeFork(event.entryId, event.position, ctx),
	);

	pi.on("session_shutdown", async (event) => {
		const ending = live;
		live = undefined;
		release(token);
		if (ending === undefined) return;
		try {
			await ending.settle();
			if (event.reason !== "fork") return;
			const departure = await ending.navigation.leaveForFork();
			handover = { parentFile: ending.session.owner.sessionFile, ...departure };
		} finally {
			// On 0.84 an ephemeral session that was forked is its child by now: its own records cannot be read any more.
			if (event.reason !== "fork" || !ending.session.isEphemeral) await ending.sweeper.end();
			await ending.close();
		}
	});

	/** A predecessor's parent, or one in another folder (fresh module), left it in its file. [R2] asks for kept ones. */
	async function takeOverPending(child: Live, parentFile: string | undefined): Promise<void> {
		if (parentFile === undefined) return;
		const pending = await readForkPending(resolve(parentFile), log);
		const engine = pending === undefined ? undefined : await child.engine();
		if (pending === undefined || engine === undefined) return;
		const { current, undo, undoAfter } = pending;
		const isUsable = async (id: SnapshotId | undefined): Promise<boolean> =>
			id !== undefined && typeof (await engine.store.resolve(id)) !== "string";
		// Without what it may touch, an undo of chosen paths would become one of everything.
		const hasUndo =
			(await isUsable(undo)) && (undoAfter === undefined || (await isUsable(undoAfter)));
		child.session.appendOp({
			...(current !== undefined && (await isUsable(current)) ? { current } : {}),
			...(hasUndo && undo !== undefined ? { undo } : {}),
			...(hasUndo && undoAfter !== undefined ? { undoAfter } : {}),
		});
	}
}

/**
 * `twice`: another copy serves this very session. `elsewhere`: a session inside another one's process (a sub-agent's);
 * the outer one's points cover what it does.
 */
function claim(token: object, sessionId: string): "ours" | "twice" | "elsewhere" {
	const active: unknown = Reflect.get(globalThis, claimKey);
	if (isClaim(active) && active.token !== token)
		return active.sessionId === sessionId ? "twice" : "elsewhere";
	Reflect.set(globalThis, claimKey, { token, sessionId });
	return "ours";
}

function release(token: object): void {
	const active: unknown = Reflect.get(globalThis, claimKey);
	if (isClaim(active) && active.token === token) Reflect.deleteProperty(globalThis, claimKey);
}

const isClaim = (value: unknown): value is { readonly token: object; readonly sessionId: string } =>
	typeof value === "object" && value !== null && "token" in value && "sessionId" in value;

function takeHandover(previousFile: string | undefined): Handover | undefined {
	const given = handover;
	handover = undefined;
	const parent = previousFile === undefined ? undefined : resolve(previousFile);
	return given?.parentFile === parent ? given : undefined;
}
