// Judges histories of the memory tool with Porcupine: `go run . FILE` reads one history a line and prints one verdict a
// line. The model is a map from path to text (docs/testing.md, "Linearizability").
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// Verdict is what is told of a history: "accepted", "rejected", or "undecided" when the time for it ran out.
type Verdict struct {
	Name    string `json:"name"`
	Verdict string `json:"verdict"`
	Reason  string `json:"reason,omitempty"`
	// An interactive picture of the history, where it was rejected.
	Picture string `json:"picture,omitempty"`
	Steps   int    `json:"steps"`
	Millis  int64  `json:"millis"`
}

func main() {
	pictures := flag.String("pictures", "", "folder for pictures of what was rejected")
	timeout := flag.Duration("timeout", 60*time.Second, "the longest time for one history")
	flag.Parse()
	if err := run(flag.Arg(0), *pictures, *timeout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(file, pictures string, timeout time.Duration) error {
	histories, err := read(file)
	if err != nil {
		return err
	}
	verdicts := make([]Verdict, len(histories))
	var waiting sync.WaitGroup
	places := make(chan struct{}, runtime.NumCPU())
	for i := range histories {
		waiting.Add(1)
		places <- struct{}{}
		go func() {
			defer func() { <-places; waiting.Done() }()
			verdicts[i] = judge(histories[i], pictures, timeout)
		}()
	}
	waiting.Wait()
	out := json.NewEncoder(os.Stdout)
	for _, verdict := range verdicts {
		if err := out.Encode(verdict); err != nil {
			return err
		}
	}
	return nil
}

func read(file string) ([]History, error) {
	input, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer input.Close()
	var histories []History
	lines := bufio.NewScanner(input)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var history History
		if err := json.Unmarshal(lines.Bytes(), &history); err != nil {
			return nil, fmt.Errorf("line %d is no history: %w", len(histories)+1, err)
		}
		histories = append(histories, history)
	}
	return histories, lines.Err()
}

func judge(history History, pictures string, timeout time.Duration) Verdict {
	begun := time.Now()
	operations, err := operationsOf(history)
	verdict := Verdict{Name: history.Name, Steps: len(operations)}
	if err != nil {
		verdict.Verdict, verdict.Reason = "rejected", err.Error()
		return verdict
	}
	model := treeModel()
	if history.byPath() {
		model.Partition = partitionByPath
	}
	result := porcupine.CheckOperationsTimeout(model, operations, timeout)
	switch result {
	case porcupine.Ok:
		verdict.Verdict = "accepted"
	case porcupine.Unknown:
		verdict.Verdict = "undecided"
	case porcupine.Illegal:
		verdict.Verdict, verdict.Reason = "rejected", "the answers contradict each other"
		if pictures != "" {
			verdict.Picture = draw(model, lanes(operations), filepath.Join(pictures, history.Name+".html"), timeout)
		}
	}
	verdict.Millis = time.Since(begun).Milliseconds()
	return verdict
}

// lanes gives steps that overlap rows of their own, so that the picture shows all of them.
func lanes(operations []porcupine.Operation) []porcupine.Operation {
	drawn := slices.Clone(operations)
	slices.SortStableFunc(drawn, func(one, other porcupine.Operation) int { return cmp.Compare(one.Call, other.Call) })
	var ends []int64
	for i, each := range drawn {
		lane := slices.IndexFunc(ends, func(end int64) bool { return end < each.Call })
		if lane < 0 {
			lane = len(ends)
			ends = append(ends, 0)
		}
		ends[lane] = each.Return
		drawn[i].ClientId = lane
	}
	return drawn
}

func draw(model porcupine.Model, operations []porcupine.Operation, file string, timeout time.Duration) string {
	_, info := porcupine.CheckOperationsVerbose(model, operations, timeout)
	if err := porcupine.VisualizePath(model, info, file); err != nil {
		return err.Error()
	}
	return file
}
