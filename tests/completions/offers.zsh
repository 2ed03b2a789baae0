# Sourced by an interactive zsh (zsh_offers.py): completes each line of the file $CASES as a person would with Tab, and
# writes what is offered, and what the line is then, to the file $ANSWERS.
PS1= PS2=
setopt no_auto_menu  # each line is a first Tab
autoload -Uz compinit
compinit -D -u
source "$SCRIPT"
exec 3> "$ANSWERS"

# What reaches the shell, whichever function it comes from.
compadd() {
  local -a asked=("${@[1,(i)(-|--)]}") offered
  if ((! ${asked[(I)-[OAD]*]})); then  # those fill an array, and offer nothing
    builtin compadd -O offered "$@"
    ((!$#offered)) || print -r -u 3 -l -- offer$'\t'$^offered
  fi
  builtin compadd "$@"
}

zle-line-init() {
  local line
  for line in ${(f)"$(< $CASES)"}; do
    BUFFER=$line CURSOR=$#line
    print -r -u 3 -- case$'\t'$line
    zle complete-word 2>&3
    print -r -u 3 -- line$'\t'$BUFFER
  done
  BUFFER=exit
  zle accept-line
}
zle -N zle-line-init
