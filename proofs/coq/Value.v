(* Layouts over Z as the library evaluates them, and the bridge to the nat-indexed theorems of Layout.v.

   mode, size, value   BasicMode, BasicLayout::size, detail::value_at       algebra/include/inlay/algebra/layout.h
   coalesced           body::coalesced_modes (bounded and unbounded)        algebra/include/inlay/algebra/bodies/coalesce.h

   Nesting is not modelled: all of these see only the leaves, in order.  Z.div and Z.modulo round down, as floor_div and
   floor_mod do.  tests/proofs/coq_bridge_test.cpp evaluates these definitions and the library on the same layouts. *)
Require Import ZArith List Lia Permutation.
Require Layout.
Import ListNotations.
Local Open Scope Z_scope.

Notation mode := (Z * Z)%type. (* extent, stride *)

Definition size (L : list mode) : Z := fold_right (fun m n => fst m * n) 1 L.

(* The last mode is not reduced: an index beyond the size runs on along it. *)
Fixpoint value (L : list mode) (i : Z) : Z :=
  match L with
  | [] => 0
  | [(_, d)] => i * d
  | (s, d) :: T => (i mod s) * d + value T (i / s)
  end.

Definition wf (L : list mode) : Prop := Forall (fun m => 1 <= fst m) L.

(* ---------------------------------------------------------------- coalesce *)
Definition mergeable (l r : mode) : bool := fst l * snd l =? snd r.

(* `out` of the C++ loop is what was emitted, then `last`, its back(). *)
Fixpoint merge (last : mode) (L : list mode) : list mode :=
  match L with
  | [] => [last]
  | m :: T => if mergeable last m then merge (fst last * fst m, snd last) T else last :: merge m T
  end.

(* Modes of extent 1 are dropped; where the function is kept for all indices, a last one counts as 2. *)
Fixpoint used (unbounded : bool) (L : list mode) : list mode :=
  match L with
  | [] => []
  | [(s, d)] => if s =? 1 then (if unbounded then [(2, d)] else []) else [(s, d)]
  | (s, d) :: T => if s =? 1 then used unbounded T else (s, d) :: used unbounded T
  end.

Definition coalesced (unbounded : bool) (L : list mode) : list mode :=
  match used unbounded L with [] => [] | m :: T => merge m T end.

(* ---------------------------------------------------------------- values *)
Lemma value_0 : forall L, value L 0 = 0.
Proof. induction L as [|[s d] [|m T] IH]; auto. Qed.

Lemma value_cons : forall s d T i, T <> [] -> value ((s, d) :: T) i = (i mod s) * d + value T (i / s).
Proof. intros s d [|m T] i H; [congruence|reflexivity]. Qed.

Lemma size_cons : forall s d T, size ((s, d) :: T) = s * size T.
Proof. reflexivity. Qed.

Lemma size_app : forall A B, size (A ++ B) = size A * size B.
Proof. induction A as [|[s d] A IH]; intros; [cbn [app]; change (size []) with 1; ring|]. cbn [app]. rewrite !size_cons, IH. ring. Qed.

Lemma wf_size : forall L, wf L -> 1 <= size L.
Proof. induction 1 as [|[s d] T H _ IH]; [cbn; lia|]. rewrite size_cons. cbn in H. nia. Qed.

(* Inside the size the last mode could as well be reduced. *)
Lemma value_in : forall s d T i, wf ((s, d) :: T) -> 0 <= i < size ((s, d) :: T) ->
  value ((s, d) :: T) i = (i mod s) * d + value T (i / s).
Proof.
  intros s d [|m T] i W H; [|reflexivity]. cbn in *. rewrite Z.mod_small by lia. lia.
Qed.

Lemma index_split : forall s n i, 1 <= s -> 0 <= i < s * n -> 0 <= i mod s < s /\ 0 <= i / s < n.
Proof.
  intros. split; [apply Z.mod_pos_bound; lia|]. split; [apply Z.div_pos; lia|apply Z.div_lt_upper_bound; lia].
Qed.

Lemma value_app : forall A B i, wf A -> B <> [] -> value (A ++ B) i = value A (i mod size A) + value B (i / size A).
Proof.
  induction A as [|[s d] A IH]; intros B i W H.
  - cbn [app size fold_right value]. rewrite Z.div_1_r. lia.
  - inversion W as [|? ? Hs W']; subst. cbn [fst] in Hs. pose proof (wf_size _ W') as P.
    cbn [app]. rewrite value_cons by (destruct A; [exact H|discriminate]). rewrite IH by auto.
    rewrite size_cons. rewrite (value_in s d A) by (auto; rewrite size_cons; apply Z.mod_pos_bound; nia).
    rewrite Z.div_div by lia.
    replace ((i mod (s * size A)) mod s) with (i mod s).
    2: { rewrite Z.rem_mul_r by lia. rewrite (Z.mul_comm s), Z_mod_plus_full, Z.mod_mod by lia. reflexivity. }
    replace ((i mod (s * size A)) / s) with ((i / s) mod size A).
    2: { rewrite Z.rem_mul_r by lia. rewrite (Z.mul_comm s), Z.div_add by lia.
         rewrite (Z.div_small (i mod s)) by (apply Z.mod_pos_bound; lia). lia. }
    lia.
Qed.

Lemma value_app_in : forall A B i, wf A -> wf B -> 0 <= i < size A * size B ->
  value (A ++ B) i = value A (i mod size A) + value B (i / size A).
Proof.
  intros A [|m B] i W WB H; [|apply value_app; auto; discriminate].
  cbn in H. rewrite app_nil_r, Z.mod_small by lia. cbn. lia.
Qed.

(* ---------------------------------------------------------------- coalesce keeps the function *)
Lemma merge_not_nil : forall L m, merge m L <> [].
Proof. induction L as [|m' L IH]; intros m; cbn; [congruence|]. destruct (mergeable m m'); [apply IH|discriminate]. Qed.

Lemma merge_value : forall L m i, wf (m :: L) -> value (merge m L) i = value (m :: L) i.
Proof.
  induction L as [|[t e] L IH]; intros [s d] i W; [reflexivity|].
  inversion W as [|? ? Hs W']; subst. inversion W' as [|? ? Ht W'']; subst. cbn [fst] in Hs, Ht.
  cbn [merge]. unfold mergeable. cbn [fst snd]. destruct (Z.eqb_spec (s * d) e).
  - subst e. rewrite IH by (constructor; auto; cbn; nia). rewrite (value_cons s d ((t, s * d) :: L)) by discriminate.
    destruct L as [|m' L].
    + cbn [value]. rewrite (Z.div_mod i s) at 1 by lia. ring.
    + rewrite !value_cons by discriminate. rewrite Z.div_div by lia. rewrite Z.rem_mul_r by lia. ring.
  - rewrite value_cons by apply merge_not_nil. rewrite IH by auto. rewrite (value_cons s d ((t, e) :: L)) by discriminate. reflexivity.
Qed.

Lemma merge_size : forall L m, size (merge m L) = size (m :: L).
Proof.
  induction L as [|[t e] L IH]; intros [s d]; [reflexivity|]. cbn [merge]. destruct (mergeable _ _).
  - rewrite IH, !size_cons. cbn [fst]. lia.
  - rewrite size_cons, IH, !size_cons. reflexivity.
Qed.

Lemma merge_wf : forall L m, wf (m :: L) -> wf (merge m L).
Proof.
  induction L as [|[t e] L IH]; intros [s d] W; auto. inversion W as [|? ? Hs W']; subst. inversion W' as [|? ? Ht W'']; subst.
  cbn [merge]. destruct (mergeable _ _).
  - apply IH. constructor; auto. cbn in *. nia.
  - constructor; auto. apply IH; auto.
Qed.

Lemma used_wf : forall u L, wf L -> wf (used u L).
Proof.
  intros u. induction L as [|[s d] [|m T] IH]; intros W; cbn [used]; auto.
  - inversion W; subst. destruct (s =? 1); [destruct u|]; repeat constructor; auto; cbn; lia.
  - inversion W; subst. destruct (s =? 1); auto. constructor; auto. apply IH; auto.
Qed.

Lemma used_cons : forall u s d m T, used u ((s, d) :: m :: T) = if s =? 1 then used u (m :: T) else (s, d) :: used u (m :: T).
Proof. reflexivity. Qed.

Lemma used_not_nil : forall T m, used true (m :: T) <> [].
Proof.
  induction T as [|m' T IH]; intros [t e].
  - cbn [used]. destruct (t =? 1); discriminate.
  - rewrite used_cons. destruct (t =? 1); [apply IH|discriminate].
Qed.

Lemma used_value_unbounded : forall L i, wf L -> value (used true L) i = value L i.
Proof.
  induction L as [|[s d] [|m T] IH]; intros i W; auto.
  - cbn [used]. destruct (s =? 1); reflexivity.
  - inversion W as [|? ? Hs W']; subst. cbn [fst] in Hs. rewrite used_cons, value_cons by discriminate.
    destruct (Z.eqb_spec s 1).
    + subst. rewrite IH by auto. rewrite Z.mod_1_r, Z.div_1_r. lia.
    + rewrite value_cons by apply used_not_nil. rewrite IH by auto. reflexivity.
Qed.

Lemma used_size : forall L, wf L -> size (used false L) = size L.
Proof.
  induction L as [|[s d] [|m T] IH]; intros W; auto.
  - cbn [used]. destruct (Z.eqb_spec s 1); subst; reflexivity.
  - inversion W; subst. rewrite used_cons, (size_cons s). destruct (Z.eqb_spec s 1).
    + subst. rewrite IH by auto. lia.
    + rewrite size_cons, IH by auto. reflexivity.
Qed.

Lemma used_value : forall L i, wf L -> 0 <= i < size L -> value (used false L) i = value L i.
Proof.
  induction L as [|[s d] T IH]; intros i W H; auto. inversion W as [|? ? Hs W']; subst. cbn [fst] in Hs.
  rewrite value_in by auto. rewrite size_cons in H. destruct (index_split s (size T) i Hs H) as [H1 H2].
  destruct T as [|m T].
  - cbn [used]. destruct (Z.eqb_spec s 1).
    + subst. cbn in *. assert (i = 0) by lia. subst. reflexivity.
    + cbn in *. rewrite Z.mod_small by lia. lia.
  - rewrite used_cons. destruct (Z.eqb_spec s 1).
    + subst. rewrite Z.mod_1_r, Z.div_1_r in *. rewrite IH by (auto; lia). lia.
    + rewrite value_in.
      * rewrite IH by auto. reflexivity.
      * constructor; auto. apply used_wf; auto.
      * rewrite size_cons, used_size by auto. lia.
Qed.

Lemma coalesced_wf : forall u L, wf L -> wf (coalesced u L).
Proof.
  intros u L W. apply (used_wf u) in W. unfold coalesced. destruct (used u L); [exact W|]. apply merge_wf; auto.
Qed.

Theorem coalesced_size : forall L, wf L -> size (coalesced false L) = size L.
Proof.
  intros L W. rewrite <- (used_size L) by auto. unfold coalesced. destruct (used false L); auto. apply merge_size.
Qed.

(* On [0, size), as coalesce() promises. *)
Theorem coalesced_value : forall L i, wf L -> 0 <= i < size L -> value (coalesced false L) i = value L i.
Proof.
  intros L i W H. rewrite <- (used_value L i) by auto. pose proof (used_wf false _ W) as U. unfold coalesced.
  destruct (used false L); auto. apply merge_value; auto.
Qed.

(* At every integer, also beyond the size and below zero: what composition takes of its left operand. *)
Theorem coalesced_unbounded_value : forall L i, wf L -> value (coalesced true L) i = value L i.
Proof.
  intros L i W. rewrite <- (used_value_unbounded L i) by auto. pose proof (used_wf true _ W) as U. unfold coalesced.
  destruct (used true L); auto. apply merge_value; auto.
Qed.

(* ---------------------------------------------------------------- the same layouts as in Layout.v *)
Definition of_nat_layout (L : Layout.layout) : list mode := map (fun m => (Z.of_nat (fst m), snd m)) L.

Lemma of_nat_wf : forall L, Layout.wf L -> wf (of_nat_layout L).
Proof. induction 1; constructor; auto. cbn. lia. Qed.

Theorem of_nat_size : forall L, size (of_nat_layout L) = Z.of_nat (Layout.size L).
Proof. induction L as [|[s d] T IH]; auto. cbn [of_nat_layout map Layout.size fst snd]. rewrite size_cons. fold (of_nat_layout T). rewrite IH. lia. Qed.

Theorem of_nat_value : forall L i, Layout.wf L -> (i < Layout.size L)%nat -> value (of_nat_layout L) (Z.of_nat i) = Layout.eval L i.
Proof.
  induction L as [|[s d] T IH]; intros i W H; auto. pose proof (of_nat_wf _ W) as W'. inversion W; subst. cbn [fst] in *.
  change (of_nat_layout ((s, d) :: T)) with ((Z.of_nat s, d) :: of_nat_layout T) in *.
  rewrite value_in; [|auto|rewrite size_cons, of_nat_size; cbn in H; nia].
  cbn [Layout.eval]. rewrite <- Nat2Z.inj_mod, <- Nat2Z.inj_div, IH; [ring|auto|].
  apply Nat.div_lt_upper_bound; [lia|]. cbn in H. lia.
Qed.

(* The loop of the C++ runs left to right, `nf` right to left; what they reach is one list, so `layout_eq_iff` speaks of
   coalesce(). *)
Lemma merge_scaled : forall T s t d, wf ((s, d) :: T) ->
  exists n R, merge (t, s * d) T = (n, s * d) :: R /\ merge (s * t, d) T = (s * n, d) :: R.
Proof.
  induction T as [|[u e] T IH]; intros s t d W; [cbn [merge]; eauto|].
  inversion W as [|? ? Hs W']; subst. inversion W'; subst. cbn [merge]. unfold mergeable. cbn [fst snd].
  replace (s * t * d) with (t * (s * d)) by ring. destruct (t * (s * d) =? e); [|eauto].
  replace (s * t * u) with (s * (t * u)) by ring. apply IH. constructor; auto.
Qed.

Theorem coalesced_is_nf : forall L, Layout.wf L -> coalesced false (of_nat_layout L) = of_nat_layout (Layout.nf L).
Proof.
  unfold coalesced. induction L as [|[s d] T IH]; intros W; auto. inversion W as [|? ? Hs W']; subst. specialize (IH W').
  cbn [fst] in Hs. pose proof (used_wf false _ (of_nat_wf _ W')) as U.
  change (Layout.nf ((s, d) :: T)) with (Layout.push (s, d) (Layout.nf T)). unfold Layout.push.
  assert (E : used false (of_nat_layout ((s, d) :: T)) =
              if Z.of_nat s =? 1 then used false (of_nat_layout T) else (Z.of_nat s, d) :: used false (of_nat_layout T)).
  { destruct T; [cbn; destruct (Z.of_nat s =? 1); reflexivity|reflexivity]. }
  rewrite E. clear E. destruct (Z.eqb_spec (Z.of_nat s) 1), (Nat.eqb_spec s 1); try lia; auto.
  destruct (used false (of_nat_layout T)) as [|[t e] R].
  - destruct (Layout.nf T); [reflexivity|discriminate].
  - cbn [merge]. unfold mergeable. cbn [fst snd]. inversion U; subst.
    destruct (Z.eqb_spec (Z.of_nat s * d) e) as [Q|Q].
    + subst e. destruct (merge_scaled R (Z.of_nat s) t d) as (n' & R' & M1 & M2); [constructor; auto; cbn; lia|].
      rewrite M1 in IH. rewrite M2. destruct (Layout.nf T) as [|[s' d'] T']; [discriminate|].
      cbn in IH. injection IH as I1 I2 I3. subst. rewrite Z.eqb_refl. cbn. f_equal. f_equal. lia.
    + destruct (merge_scaled R 1 t e) as (n' & R' & M1 & _); [constructor; auto; cbn; lia|].
      rewrite Z.mul_1_l in M1. rewrite IH. rewrite M1 in IH. destruct (Layout.nf T) as [|[s' d'] T']; [discriminate|].
      cbn in IH. injection IH as I1 I2 I3. subst. destruct (Z.eqb_spec d' (Z.of_nat s * d)); [congruence|]. reflexivity.
Qed.
