"""Phrases that signal a change, a plan, a doubt or a return to an earlier value; one to three words each."""

from __future__ import annotations

from typing import Final


def _phrases(text: str) -> frozenset[str]:
    return frozenset(" ".join(phrase.split()) for phrase in text.split(","))


SURE_CHANGE: Final = _phrases("""
    instead, no longer, anymore, any more, changed to, changed from, changed it, changed the, changed my,
    changed our, change it, change the, has changed, have changed, switched to, switched from, switching to,
    switch to, moved to, moved from, moved back, moves to, move to, moving to, move it to, moved it to,
    swapped, replaced, replaces, is replacing, scrap, scrapped, dropped, cancelled, canceled, called off,
    postponed, pushed back, pushed to, pushed out, brought forward, rescheduled, renamed, reverted, rolled
    back, takes over, took over, taking over, from now on, changed my mind, changed his mind, changed her
    mind, changed our mind, changed our minds, changed their minds, correction, is gone, are gone, new plan,
    change of plan, change of plans, as of today, as of now, as of tomorrow, as of monday, as of next, after
    all, is now, are now, now is, it's now, now it's, we're now, i'm now, got moved, was moved, been moved,
    decided against
""")
"""An explicit replacement of what was said before."""

MOVES: Final = _phrases("moved, moving, pushed, shifted, switched")
MOVED: Final = _phrases("the, my, our, his, her, their, your")
MOVED_TO: Final = _phrases("to, from")
"""Three words with others between them make such a replacement: "moved our CI to Buildkite"."""

CHANGE: Final = SURE_CHANGE | _phrases("""
    change, changes, changed, changing, switch, switches, switched, switching, move, moves, moved, moving,
    swap, swapping, replace, replacing, drop, drops, dropping, cancel, cancels, cancelling, delay, delays,
    delayed, late, reschedule, rename, revert, reverting, roll back, raise, raises, raised, bump, bumped,
    lower, lowered, lowering, increase, increased, reduce, reduced, reducing, cut, cuts, cutting, goes up,
    goes down, went up, went down, go up, go down, up to, down to, quit, quits, quitting, resigned, left,
    leaves, leaving, sold, gave up, give up, giving up, stop, stops, stopped, take over, hand over, handed
    over, handing over, handed, is dead, is out, is off, is over, fell through, new, now, nowadays, these
    days, from next, from this, from tonight, from today, from tomorrow, starting next, starting this,
    starting today, since last, turns out, turned out, actually, update, updated, upgrade, upgraded,
    downgraded, migrate, migrated, became, becomes, becoming, turned into, finally, by now, already, rather
    than, won't be, isn't, aren't, not the, rather, by then, again, back to, back on, back in, back at, back
    with, earlier, later, wants me, put me, shifted, shift, put back, extended, shortened, make it, make
    that, said yes, go with, going with, it is, will be, done, finished
""")
"""Something holds that did not hold before, or no longer does."""

BACK: Final = _phrases("""
    back to, back on, back in, back at, back with, back for, again, reverted, reverting, revert, rolled
    back, roll back, as before, after all, return to, returns to, returned to, returning to, undo, undid,
    undone, restore, restored, re-enabled, reenabled, re-enable, reinstated, the old, like before, as it
    was, what it was, always was
""")
"""An earlier value holds again."""

NEGATION: Final = _phrases("""
    not, no, never, none, nobody, nothing, neither, nor, cannot, without, nope, dont, didnt, doesnt, isnt,
    wasnt, wont, cant, arent, werent, hasnt, havent, wouldnt, shouldnt, couldnt, aint
""")

HYPOTHETICAL: Final = _phrases("""
    if i, if we, if you, if he, if she, if they, if it, if only, if ever, would have, might, maybe, perhaps,
    could be, could have, what if, wish, supposed to, thinking of, thinking about, considering, consider,
    wonder, wondering, rumour, rumours, rumor, dream, dreamt, dreamed, imagine, just kidding, kidding, joke,
    joking, one day, someday, some day, ideally, hypothetically, i'd, proposal
""")

UNREAL: Final = _phrases("""
    if i ever, if we ever, if they ever, if only, i dreamt, i dreamed, had a dream, just kidding, kidding,
    joking, a joke, as a joke, jk, hypothetically, what if, imagine if, imagine, would have, could have, in
    a dream, if i won, if we won, if i were, if we were, if i was, if i'd, if we'd, i wish, we wish
""")
"""What is said is not so: it replaces nothing."""

TENTATIVE: Final = _phrases("""
    thinking of, thinking about, thought of, thought about, considering, toying with, tempted to, mulling
    over, wondering if, wondering whether, wondering about, on the fence, in two minds
""")
"""Somebody weighs something: what holds still holds."""

FORBIDS: Final = _phrases("""
    never, must not, mustn't, mustnt, not allowed, don't ever, dont ever, forbidden, banned, under no
    circumstances
""")
"""A ban holds beside whatever is done instead."""

PLAN: Final = _phrases("""
    will, i'll, we'll, he'll, she'll, they'll, it'll, going to, gonna, plan, plans, planned, planning, want
    to, wants to, shall, tomorrow, next week, next month, next year, hope to, intend, should, need to, needs
    to, have to, must, booked, scheduled, pencilled, due, until, till, for now, to start with, at first, so
    far, yet, this week, this month, soon, later, let's, lets, todo, to do, trying, waiting
""")
"""It holds for a while, or is still to come."""

DONE: Final = _phrases("""
    done, finished, finally, passed, arrived, came, got, sold, bought, booked, paid, sent, submitted,
    merged, shipped, released, deployed, fixed, signed, moved, started, landed, delivered, found, over,
    through, it's in, here, removed, deleted, closed, complete, completed, yesterday, last night, this
    morning, today, ago
""")
"""Something planned or open has happened."""

REPORTED: Final = _phrases("""
    says, say, said, told, thinks, think, thought, claims, suggests, suggested, proposed, proposes, asked,
    asks, wants, wanted, would like, hopes, plans to
""")
"""What somebody else says or wants."""

PERSONAL: Final = _phrases("""
    i love, i like, i hate, i prefer, i enjoy, i adore, i can't stand, i cant stand, i don't like, i dont
    like, i don't eat, i dont eat, i eat, i drink, i don't drink, i'm allergic, im allergic, i am allergic,
    i'm vegan, i'm vegetarian, i am vegan, i am vegetarian, my favourite, my favorite, i live, i work, i was
    born, i'm from, i am from, i wear, my size, i think, i believe, i vote, i want, i'd rather, i can't eat,
    i can't, i don't want, i never, i always, my birthday, my number, my name, i'm scared, i'm afraid, i
    speak, i weigh, i take, i sleep, i get up, i drive, i'm into, i still love, i really love, i really
    like, i really hate, i'm a, i am a
""")
"""A taste, a trait or an opinion of the speaker: another speaker's does not replace it."""
