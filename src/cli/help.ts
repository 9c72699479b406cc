/** What `help` says. Teaches by what a person wants to do. */
import { type CommandName, shapes } from "./arguments.ts";
import { exitCodes } from "./io.ts";
import { pointForms } from "./points.ts";

const { done, failed, usage, refused, findings } = exitCodes;
const codes = `Exit codes: ${done} done · ${failed} failed · ${usage} wrong usage
  ${refused} refused, declined or no such point: nothing was changed
  ${findings} recover or doctor found something that needs you
`;

export const overview = `pi-rewind: the points of your Pi sessions, without Pi

  pi-rewind list                     which points there are, newest first
  pi-rewind show @2                  what a point is, and what changed up to it
  pi-rewind diff @2                  what differs between it and the files now
  pi-rewind restore @2 --dry-run     what going back would do; without --dry-run, it asks and does it
  pi-rewind restore @2 src/app.ts    only this file, or this folder
  pi-rewind undo                     takes the last restore back
  pi-rewind recover                  names a restore that was cut off, and ends it
  pi-rewind stats                    how much there is and what it weighs
  pi-rewind sweep --dry-run          which snapshots the settings let go, and why each other stays
  pi-rewind doctor                   whether all of it is sound, and what to do if not

A POINT is ${pointForms}. The beginning of an id is enough where it fits one only.
Sessions are those that Pi ran in this folder, or at the root of its repository; --session FILE names another one.
--json gives facts for programs. pi-rewind help COMMAND says more.

Index, HEAD, branches and stash are never touched. What a point does not cover is never overwritten or deleted.
${codes}`;

const more: Record<CommandName, string> = {
	list: `Lists the sessions of this folder, the one used last first, and their points, newest first:

  @N  time  entry  snapshot  branch  what changed since the point before  what it is

~ changed, + added, − deleted, → renamed, = nothing, ? cannot be told, gone: it cannot be restored, with the reason.
A point at your message holds the files from before its run; a point at an answer, those after it. What a fork took over
from a session that is listed stands there. Numbers follow what was used last; ids stay.

  --max N, -n N   at most N points (30)
  --all, -a       all of them`,
	show: `Says when and where a point was taken, what it does not cover, and what changed since the point
before it on its branch.

  --patch, -p     the changed lines too
  --path PATH     only this file or folder; may be given several times`,
	diff: `Compares a point with the files now, or with a second point: what you would have to do to the first to get the other.
Comparing with the files now takes a snapshot of them, as every point does.

  --patch, -p     the changed lines too; into a pipe it is what git apply takes
  --path PATH     only this file or folder; may be given several times`,
	restore: `Puts the files back to a point; with PATHs, only these files and folders. Shows first what it would do, then asks.

  --dry-run       only shows it
  --yes, -y       does not ask: needed where nobody can be asked, and with --json

The files before are kept: pi-rewind undo brings them back, and so does "Undo last file rewind" in Pi, which reads of it
in the session file at the next resume. Only files move; the conversation stays where it is. A session that is open in a
running Pi is not written to: go back there with /tree, or close it first.`,
	undo: `Puts the files back to what they were before the newest restore of this folder's sessions, whoever did it: Pi or
pi-rewind. Undoing twice is redo.

  --dry-run       only shows what it would do
  --yes, -y       does not ask`,
	recover: `Names each restore that was cut off (a crash, a kill, no power). Changes nothing without one of these:

  --finish        restores the rest
  --roll-back     brings back the files from before it
  --forget        keeps the files as they are and asks no more`,
	stats: `Counts snapshots, sessions and points; weighs what only snapshots hold, which is what git gc
could free without them; names the largest of these files, and what the newest point does not cover.`,
	sweep: `Lets go of the snapshots that the settings (rewind.retention in Pi's settings.json) allow to go and that no session
needs. Without a limit there, everything stays. Pi does the same on its own; in scanMode "ancestor-only" what counts is
the lineage of the session used last here, or of --session.

  --dry-run       only shows: what would go, and why each other stays

The space comes back with git gc, in its own time.`,
	doctor: `Holds the sessions' records against the repository, and both against the disk. Marks: ✗ needs you, ! can be mended
by --fix, · only worth knowing.

  --fix           removes locks and leftovers of processes that are gone; nothing that could be needed`,
};

const forAll = `  --session FILE  the session in this file, in place of this folder's
  --json          facts for programs`;

export const helpFor = (command: CommandName): string =>
	`pi-rewind ${shapes[command].usage}\n\n${more[command]}\n${forAll}\n\n${codes}`;
